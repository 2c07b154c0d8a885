#include "model/table/string_pool.h"

#include <algorithm>
#include <cstring>

namespace memstrata {

char* StringPool::Allocate(size_t size) {
  constexpr size_t kBlockBytes = size_t{256} * 1024;
  if (size > block_free_) {
    const size_t block = std::max(size, kBlockBytes);
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(block));
    next_ = blocks_.back().get();
    block_free_ = block;
  }
  char* result = next_;
  next_ += size;
  block_free_ -= size;
  return result;
}

StringId StringPool::Intern(std::string_view text) {
  if (const auto found = ids_.find(text); found != ids_.end()) return {found->second};
  std::string_view kept;
  if (!text.empty()) {
    char* copy = Allocate(text.size());
    std::memcpy(copy, text.data(), text.size());
    kept = {copy, text.size()};
  }
  const auto id = static_cast<uint32_t>(texts_.size());
  texts_.push_back(kept);
  ids_.emplace(kept, id);
  return {id};
}

}  // namespace memstrata
