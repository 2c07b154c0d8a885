#pragma once
// The transport: HTTP/1.1 on the loopback address. Only http_server.cpp knows the library behind it.
//
// Limits: 5 s for a client to send or take the next bytes, 8 KiB for an address or header, 128 connections served at
// once (others wait), 2 GiB for an upload.

#include <memory>

#include "base/result.h"
#include "serve/http_message.h"

namespace memstrata {

class HttpServer {
 public:
  struct Handlers {
    /// Any request without a body; called from many threads.
    std::function<HttpResponse(const HttpRequest&)> answer;
    /// A POST: decides by the request alone whether its body is wanted. A response refuses it.
    std::function<std::optional<HttpResponse>(const HttpRequest&)> refuse_upload;
    std::function<HttpResponse(const HttpRequest&, const BodyReader&)> take_upload;
  };

  explicit HttpServer(Handlers handlers);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Takes a port of 127.0.0.1, 0 = any free one, and returns it. errors: kIo when it is taken
  Result<uint16_t> Bind(uint16_t port);
  /// Serves until Stop(). errors: kIo
  Status Serve();
  /// Ends Serve() after the answers in flight; from any thread.
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace memstrata
