#pragma once
// A request and its response as the rest of the server sees them, whatever carries them.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace memstrata {

struct HttpRequest {
  std::string method;  // "GET"
  std::string target;  // path and query as sent: "/TOKEN/api/v1/cursor?heap=0&seq=1"
  std::string host;    // header Host, as sent
  std::optional<std::string> origin;
  std::string accept_encoding;
  std::string if_none_match;
};

struct HttpResponse {
  int status = 200;
  std::string content_type;
  std::shared_ptr<const std::string> body;  // null: no body. Shared, so that a kept answer goes out without a copy
  bool is_gzip = false;                     // the body is gzip-encoded
  std::string etag;
};

/// Gives the body of an upload piece by piece to `take`, which returns false to stop. Returns false when it broke off.
using BodyReader = std::function<bool(const std::function<bool(std::string_view)>& take)>;

}  // namespace memstrata
