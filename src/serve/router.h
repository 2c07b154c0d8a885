#pragma once
// Decides what a request gets: who may ask, which address means what. Knows no sockets, so tests and the fuzzer call it
// directly.

#include <semaphore>
#include <string>

#include "serve/http_message.h"
#include "serve/session_host.h"

namespace memstrata {

class Router {
 public:
  /// `token`: 32 hexadecimal digits that every address starts with. `port`: what Host and Origin must name.
  Router(SessionHost& session, std::string token, uint16_t port);

  HttpResponse Answer(const HttpRequest& request);
  /// Why a POST is refused before its body is read; nothing when it is welcome.
  std::optional<HttpResponse> RefuseUpload(const HttpRequest& request) const;
  HttpResponse TakeUpload(const HttpRequest& request, const BodyReader& read);

 private:
  /// The path behind "/TOKEN/", or why the request is refused.
  tl::expected<std::string_view, HttpResponse> Admit(const HttpRequest& request) const;
  HttpResponse AnswerProgress(const Parameters& parameters) const;
  HttpResponse AnswerApi(std::string_view name_and_query);
  Result<memstrata::Answer> Compute(SessionIndex& session, std::string_view name, const Parameters& parameters);

  SessionHost& session_;
  std::string prefix_;  // "/TOKEN/"
  std::string host_by_address_;
  std::string host_by_name_;
  std::counting_semaphore<> workers_;  // answers computed at once: more would only share the processors and the memory
};

/// 32 random hexadecimal digits. errors: kIo when the system gives no random bytes
Result<std::string> RandomToken();

}  // namespace memstrata
