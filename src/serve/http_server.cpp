#include "serve/http_server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <chrono>

namespace memstrata {
namespace {

constexpr size_t kConnectionCount = 128;
constexpr time_t kSlowClientSeconds = 5;
constexpr time_t kIdleSeconds = 5;
constexpr size_t kKeepAliveRequests = 1000;
constexpr size_t kLargestUploadBytes = 2ULL << 30;
constexpr const char* kLoopback = "127.0.0.1";
constexpr const char* kContentPolicy =
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "form-action 'none'";

HttpRequest Convert(const httplib::Request& request) {
  HttpRequest converted{.method = request.method,
                        .target = request.target,
                        .host = request.get_header_value("Host"),
                        .accept_encoding = request.get_header_value("Accept-Encoding"),
                        .if_none_match = request.get_header_value("If-None-Match")};
  if (request.has_header("Origin")) converted.origin = request.get_header_value("Origin");
  return converted;
}

// What a browser's tools and the speed program show beside the time on the wire.
std::string ServerTiming(std::chrono::steady_clock::time_point begin) {
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
  return fmt::format("answer;dur={:.3f}", taken.count());
}

void Fill(HttpResponse&& from, httplib::Response& into) {
  into.status = from.status;
  into.set_header("X-Content-Type-Options", "nosniff");
  into.set_header("Referrer-Policy", "no-referrer");
  into.set_header("Cache-Control", "no-cache");
  into.set_header("Content-Security-Policy", kContentPolicy);
  into.set_header("Vary", "Accept-Encoding");
  if (!from.etag.empty()) into.set_header("ETag", from.etag);
  if (from.is_gzip) into.set_header("Content-Encoding", "gzip");
  if (from.body == nullptr || from.body->empty()) return;
  // Through a provider: the library compresses plain bodies by itself, which costs more than the loopback gains.
  into.set_content_provider(from.body->size(), from.content_type,
                            [body = from.body](size_t offset, size_t length, httplib::DataSink& sink) {
                              return sink.write(body->data() + offset, std::min(length, body->size() - offset));
                            });
}

}  // namespace

struct HttpServer::Impl {
  explicit Impl(Handlers given) : handlers(std::move(given)) {
    server.new_task_queue = [] {
      return new httplib::ThreadPool(kConnectionCount);
    };  // the library's interface: it deletes it
    server.set_read_timeout(kSlowClientSeconds);
    server.set_write_timeout(kSlowClientSeconds);
    server.set_keep_alive_timeout(kIdleSeconds);
    server.set_keep_alive_max_count(kKeepAliveRequests);
    server.set_payload_max_length(kLargestUploadBytes);
    server.set_tcp_nodelay(true);
    // The library would share a port that another program already listens on (SO_REUSEPORT): requests could then reach
    // either of the two.
    server.set_socket_options([](socket_t socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    // Everything but a wanted upload is answered here, before any body is read.
    server.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      const HttpRequest converted = Convert(request);
      if (request.method == "POST") {
        std::optional<HttpResponse> refusal = handlers.refuse_upload(converted);
        if (!refusal) return httplib::Server::HandlerResponse::Unhandled;
        response.set_header("Connection", "close");  // its body is still on the way
        Fill(std::move(*refusal), response);
      } else {
        const auto begin = std::chrono::steady_clock::now();
        HttpResponse answer = handlers.answer(converted);
        // Not of a refusal: how long it takes to look at a wrong token is nobody's business.
        if (answer.status < 400) response.set_header("Server-Timing", ServerTiming(begin));
        Fill(std::move(answer), response);
      }
      return httplib::Server::HandlerResponse::Handled;
    });
    server.Post(".*", [this](const httplib::Request& request, httplib::Response& response,
                             const httplib::ContentReader& content) {
      const BodyReader read = [&content](const std::function<bool(std::string_view)>& take) {
        return content([&take](const char* bytes, size_t count) { return take({bytes, count}); });
      };
      Fill(handlers.take_upload(Convert(request), read), response);
    });
  }

  Handlers handlers;
  httplib::Server server;
};

HttpServer::HttpServer(Handlers handlers) : impl_(std::make_unique<Impl>(std::move(handlers))) {}
HttpServer::~HttpServer() = default;

Result<uint16_t> HttpServer::Bind(uint16_t port) {
  if (port == 0) {
    const int taken = impl_->server.bind_to_any_port(kLoopback);
    if (taken > 0) return static_cast<uint16_t>(taken);
    return Fail(ErrorCode::kIo, "No port of 127.0.0.1 could be opened.");
  }
  if (impl_->server.bind_to_port(kLoopback, port)) return port;
  return Fail(ErrorCode::kIo, fmt::format("Port {} of 127.0.0.1 could not be opened; another program may use it. "
                                          "Choose another with --port, or leave --port out.",
                                          port));
}

Status HttpServer::Serve() {
  if (impl_->server.listen_after_bind()) return {};
  return Fail(ErrorCode::kIo, "The server stopped because the system refused to accept connections.");
}

void HttpServer::Stop() { impl_->server.stop(); }

}  // namespace memstrata
