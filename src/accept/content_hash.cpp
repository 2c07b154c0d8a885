#include "accept/content_hash.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstdio>
#include <memory>

namespace memstrata::accept {
namespace {

std::string Words(XXH128_hash_t hash) { return fmt::format("{:016x}{:016x}", hash.high64, hash.low64); }

}  // namespace

std::string HashOf(std::string_view text) { return Words(XXH3_128bits(text.data(), text.size())); }

std::optional<FileHash> HashOfFile(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(), &XXH3_freeState);
  if (file == nullptr || state == nullptr) return std::nullopt;
  XXH3_128bits_reset(state.get());
  std::array<char, 1 << 16> buffer;
  FileHash result;
  for (size_t count = 0; (count = std::fread(buffer.data(), 1, buffer.size(), file.get())) > 0;
       result.size_bytes += count)
    XXH3_128bits_update(state.get(), buffer.data(), count);
  if (std::ferror(file.get()) != 0) return std::nullopt;
  result.hash = Words(XXH3_128bits_digest(state.get()));
  return result;
}

}  // namespace memstrata::accept
