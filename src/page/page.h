#pragma once
// The web page as built from ui/: a script, a style sheet and the document that loads them, packed into the program.

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace memstrata {

struct PageFile {
  std::string_view path;  // "index.html", "assets/memstrata.js"
  std::string_view content_type;
  std::string_view gzip_bytes;
};

/// Empty when the program was built without the page (no Node.js at that time).
std::span<const PageFile> PageFiles();
/// The file with this path, or nullptr.
const PageFile* FindPageFile(std::string_view path);
/// Its content. errors: kInternal for a damaged build
Result<std::string> Unpack(const PageFile& file);

/// One document with script and style inside and `embedded_json` as the data that it shows (docs/reference/api.md
/// section 8). It loads nothing from anywhere. errors: kNotFound when the program was built without the page
Result<std::string> SingleFilePage(std::string_view embedded_json);

}  // namespace memstrata
