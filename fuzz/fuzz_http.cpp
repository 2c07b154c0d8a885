// What a client may send to the server: the first line and headers of a request as the library hands them over, one a
// line: method, target, Host, Origin, Accept-Encoding, If-None-Match. The session is a small one with a heap.

#include <cstdlib>

#include "readers/reader.h"
#include "serve/router.h"

namespace {

using memstrata::HttpRequest;

constexpr std::string_view kToken = "0123456789abcdef0123456789abcdef";

// A snapshot with two blocks, one of them freed, written as JSON.
constexpr std::string_view kSnapshot =
    R"({"segments": [], "device_traces": [[)"
    R"({"action": "alloc", "addr": 4096, "size": 512, "stream": 0, "frames": [{"name": "f", "filename": "a.py", "line": 1}]},)"
    R"({"action": "alloc", "addr": 8192, "size": 1024, "stream": 0, "frames": []},)"
    R"({"action": "free_completed", "addr": 4096, "size": 512, "stream": 0, "frames": []}]]})";

memstrata::Result<std::shared_ptr<memstrata::SessionIndex>> Load(const std::vector<std::string>&,
                                                                 const std::function<void(memstrata::ReadingState)>&) {
  memstrata::OpenOptions options;
  options.context.limits.memory_bytes = 64 << 20;
  auto store = memstrata::OpenBytes("fuzz.json", std::string(kSnapshot), options);
  if (!store) return tl::unexpected(store.error());
  return std::make_shared<memstrata::SessionIndex>(std::move(*store), "fuzz", std::vector<memstrata::Document>{});
}

std::string NextLine(std::string_view& rest) {
  const std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  return std::string(line);
}

void Check(const memstrata::HttpResponse& response, bool may_be_ok) {
  if (response.status < 200 || response.status > 599 || response.status == 500) std::abort();
  if (!may_be_ok && response.status < 400) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static memstrata::SessionHost session({"fuzz.json"}, Load);
  static memstrata::Router router(session, std::string(kToken), 80);
  session.WaitUntilRead();
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  HttpRequest request;
  request.method = NextLine(rest);
  request.target = NextLine(rest);
  request.host = NextLine(rest);
  const std::string origin = NextLine(rest);
  if (!origin.empty()) request.origin = origin;
  request.accept_encoding = NextLine(rest);
  request.if_none_match = NextLine(rest);
  const bool has_token = request.target.starts_with("/" + std::string(kToken) + "/");
  Check(router.Answer(request), has_token);
  // The same behind the door, so that the questions are reached.
  request.target = "/" + std::string(kToken) + "/api/v1/" + request.target;
  request.host = "127.0.0.1:80";
  request.origin.reset();
  Check(router.Answer(request), true);
  (void)router.RefuseUpload(request);
  return 0;
}
