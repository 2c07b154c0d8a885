#include "page/page.h"

#include <fmt/format.h>

#include "base/gzip.h"

namespace memstrata {
namespace {

constexpr size_t kLargestFileBytes = 16 << 20;
constexpr std::string_view kPolicy =
    R"(<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:">)";

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Removes the element that starts with `begin` (up to and with `end`) from the document.
Status RemoveElement(std::string& document, std::string_view begin, std::string_view end) {
  const size_t at = document.find(begin);
  const size_t after = at == std::string::npos ? at : document.find(end, at);
  if (after == std::string::npos) return Fail(ErrorCode::kInternal, "The page in this build has an unexpected form.");
  document.erase(at, after + end.size() - at);
  return {};
}

Status InsertBefore(std::string& document, std::string_view place, std::string_view text) {
  const size_t at = document.find(place);
  if (at == std::string::npos) return Fail(ErrorCode::kInternal, "The page in this build has an unexpected form.");
  document.insert(at, text);
  return {};
}

Result<std::string> UnpackNamed(std::string_view path) {
  const PageFile* file = FindPageFile(path);
  if (file == nullptr)
    return Fail(ErrorCode::kNotFound,
                "This memstrata was built without its web page, because Node.js was missing when it was built. Build "
                "it again with Node.js 20.19 or newer.");
  return Unpack(*file);
}

}  // namespace

const PageFile* FindPageFile(std::string_view path) {
  for (const PageFile& file : PageFiles()) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

Result<std::string> Unpack(const PageFile& file) { return GzipDecompress(file.gzip_bytes, kLargestFileBytes); }

Result<std::string> SingleFilePage(std::string_view embedded_json) {
  MEMSTRATA_ASSIGN_OR_RETURN(std::string document, UnpackNamed("index.html"));
  MEMSTRATA_ASSIGN_OR_RETURN(std::string script, UnpackNamed("assets/memstrata.js"));
  MEMSTRATA_ASSIGN_OR_RETURN(std::string style, UnpackNamed("assets/memstrata.css"));
  ReplaceAll(script, "</script", "<\\/script");
  // After this text, the end of a script inside a document is found by other rules.
  if (script.find("<!--") != std::string::npos)
    return Fail(ErrorCode::kInternal, "The script of the page cannot be put into a document.");
  ReplaceAll(style, "</style", "<\\/style");
  MEMSTRATA_TRY(RemoveElement(document, "<script type=\"module\"", "</script>"));
  MEMSTRATA_TRY(RemoveElement(document, "<link rel=\"stylesheet\"", ">"));
  MEMSTRATA_TRY(InsertBefore(document, "<title>", fmt::format("{}\n    ", kPolicy)));
  MEMSTRATA_TRY(InsertBefore(document, "</head>", fmt::format("<style>{}</style>\n    ", style)));
  // The data first: the script looks for it as soon as it runs.
  MEMSTRATA_TRY(InsertBefore(document, "</body>",
                             fmt::format("<script type=\"application/json\" id=\"memstrata-embedded\">{}</script>\n    "
                                         "<script type=\"module\">{}</script>\n  ",
                                         embedded_json, script)));
  return document;
}

}  // namespace memstrata
