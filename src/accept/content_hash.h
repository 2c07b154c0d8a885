#pragma once
// XXH3 with 128 bits, written as the program `xxh128sum` does: tells whether two files are the same, not who made them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memstrata::accept {

std::string HashOf(std::string_view text);

struct FileHash {
  uint64_t size_bytes = 0;
  std::string hash;
};
/// Nothing where the file cannot be read to its end. cost: reads it once, in small pieces
std::optional<FileHash> HashOfFile(const std::string& path);

}  // namespace memstrata::accept
