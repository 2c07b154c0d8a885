#include "serve/router.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <thread>

#include "page/page.h"

namespace memstrata {
namespace {

constexpr std::string_view kApiPrefix = "api/v1/";
constexpr std::string_view kJsonType = "application/json";
constexpr std::string_view kFrameType = "application/vnd.memstrata.frame";

int StatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kInvalidArgument:
      return 400;
    case ErrorCode::kLimitExceeded:
      return 409;
    case ErrorCode::kUnsupportedFormat:
    case ErrorCode::kCorruptInput:
    case ErrorCode::kTruncatedInput:
      return 422;
    default:
      return 500;
  }
}

std::shared_ptr<const std::string> Shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

HttpResponse JsonResponse(int status, std::string text) {
  return {status, std::string(kJsonType), Shared(std::move(text))};
}

HttpResponse Refuse(const Error& error) { return JsonResponse(StatusOf(error.code), ErrorJson(error)); }
HttpResponse Refuse(int status, std::string message) {
  const ErrorCode code = status == 404 ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument;
  return JsonResponse(status, ErrorJson(Error{code, std::move(message)}));
}

bool EqualInConstantTime(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

std::string TagOf(std::string_view body) { return fmt::format("\"{:016x}\"", XXH3_64bits(body.data(), body.size())); }

HttpResponse PageResponse(std::string_view path, const HttpRequest& request) {
  if (PageFiles().empty()) {
    return {503, "text/plain; charset=utf-8",
            Shared("This memstrata was built without its web page, because Node.js was missing when it was built. "
                   "Build it again with Node.js 20.19 or newer.\n")};
  }
  const PageFile* file = FindPageFile(path.empty() ? "index.html" : path);
  if (file == nullptr) return Refuse(404, "There is no such page.");
  HttpResponse response{200, std::string(file->content_type), Shared(std::string(file->gzip_bytes)), true,
                        TagOf(file->gzip_bytes)};
  if (request.accept_encoding.find("gzip") == std::string::npos) {
    Result<std::string> plain = Unpack(*file);
    if (!plain) return Refuse(plain.error());
    response.etag = TagOf(*plain);
    response.body = Shared(std::move(*plain));
    response.is_gzip = false;
  }
  return response;
}

}  // namespace

Result<std::string> RandomToken() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes))
    return Fail(ErrorCode::kIo, "The system gives no random numbers.");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

Router::Router(SessionHost& session, std::string token, uint16_t port)
    : session_(session),
      prefix_(fmt::format("/{}/", token)),
      host_by_address_(fmt::format("127.0.0.1:{}", port)),
      host_by_name_(fmt::format("localhost:{}", port)),
      workers_(std::max(2U, std::thread::hardware_concurrency())) {}

tl::expected<std::string_view, HttpResponse> Router::Admit(const HttpRequest& request) const {
  if (request.host != host_by_address_ && request.host != host_by_name_)
    return tl::unexpected(Refuse(403, "This server answers only to its own name."));
  if (request.origin && *request.origin != "http://" + host_by_address_ &&
      *request.origin != "http://" + host_by_name_) {
    return tl::unexpected(Refuse(403, "This server answers only to its own page."));
  }
  const std::string_view target = request.target;
  if (!EqualInConstantTime(target.substr(0, prefix_.size()), prefix_))
    return tl::unexpected(Refuse(404, "There is nothing here."));
  return target.substr(prefix_.size());
}

HttpResponse Router::Answer(const HttpRequest& request) {
  const auto path = Admit(request);
  if (!path) return path.error();
  if (request.method != "GET" && request.method != "HEAD") return Refuse(405, "Only GET and HEAD are answered here.");
  HttpResponse response;
  if (path->starts_with(kApiPrefix)) {
    response = AnswerApi(path->substr(kApiPrefix.size()));
  } else {
    response = PageResponse(path->substr(0, path->find('?')), request);
  }
  if (response.status != 200) return response;
  if (response.etag.empty()) response.etag = TagOf(*response.body);
  if (!request.if_none_match.empty() && request.if_none_match == response.etag)
    return {304, "", nullptr, false, response.etag};
  return response;
}

Result<memstrata::Answer> Router::Compute(SessionIndex& session, std::string_view name, const Parameters& parameters) {
  workers_.acquire();
  Result<memstrata::Answer> answer = Fail(ErrorCode::kInternal, "");
  try {
    answer = Ask(session, name, parameters);
  } catch (const std::bad_alloc&) {
    answer = Fail(ErrorCode::kInternal, "There is not enough memory on this machine for this answer.");
  }
  workers_.release();
  return answer;
}

HttpResponse Router::AnswerProgress(const Parameters& parameters) const {
  constexpr std::string_view kNames[] = {"wait_ms"};
  constexpr uint64_t kLongestWaitMs = 1000;
  if (const Status known = parameters.CheckNames(kNames); !known) return Refuse(known.error());
  const Result<uint64_t> wait_ms = parameters.Number("wait_ms", kLongestWaitMs, 0);
  if (!wait_ms) return Refuse(wait_ms.error());
  return JsonResponse(200, session_.ProgressJson(std::chrono::milliseconds(*wait_ms)));
}

HttpResponse Router::AnswerApi(std::string_view name_and_query) {
  const size_t mark = std::min(name_and_query.find('?'), name_and_query.size());
  const std::string_view name = name_and_query.substr(0, mark);
  const Result<Parameters> parameters =
      Parameters::Parse(name_and_query.substr(std::min(name_and_query.size(), mark + 1)));
  if (!parameters) return Refuse(parameters.error());
  if (name == "progress") return AnswerProgress(*parameters);
  const auto session = session_.Session();
  if (!session) return Refuse(session.error());
  const std::string key = fmt::format("{}?{}", name, parameters->ToQuery());
  std::shared_ptr<const KeptAnswer> kept = session->answers->Find(key);
  if (kept == nullptr) {
    Result<memstrata::Answer> answer = Compute(*session->index, name, *parameters);
    if (!answer) return Refuse(answer.error());
    std::string tag = TagOf(answer->body);
    kept = session->answers->Keep(key, {std::move(*answer), std::move(tag)});
  }
  const bool is_frame = kept->answer.type == memstrata::Answer::Type::kFrame;
  return {200, std::string(is_frame ? kFrameType : kJsonType), {kept, &kept->answer.body}, false, kept->tag};
}

std::optional<HttpResponse> Router::RefuseUpload(const HttpRequest& request) const {
  const auto path = Admit(request);
  if (!path) return path.error();
  if (path->substr(0, path->find('?')) != "api/v1/sources") return Refuse(404, "Nothing can be sent to this address.");
  return std::nullopt;
}

HttpResponse Router::TakeUpload(const HttpRequest& request, const BodyReader& read) {
  const size_t mark = request.target.find('?');
  const Result<Parameters> parameters =
      Parameters::Parse(mark == std::string::npos ? "" : std::string_view(request.target).substr(mark + 1));
  if (!parameters) return Refuse(parameters.error());
  const Status added = session_.AddFile(parameters->Text("name"), read);
  if (!added) return Refuse(added.error());
  return JsonResponse(200, session_.ProgressJson(std::chrono::milliseconds(0)));
}

}  // namespace memstrata
