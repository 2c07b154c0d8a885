#pragma once
// Every distinct text once. Ids are dense, start at 0 (the empty string) and never move.

#include <memory>
#include <string_view>
#include <vector>

#include "base/flat_map.h"
#include "model/table/id.h"

namespace memstrata {

class StringPool {
 public:
  StringPool() { Intern(""); }
  StringPool(StringPool&&) = default;
  StringPool& operator=(StringPool&&) = default;

  /// The id of `text`; a copy is kept when it is new. Cost: one hash of the text.
  StringId Intern(std::string_view text);
  /// The text of an id from this pool; valid as long as the pool.
  std::string_view Get(StringId id) const { return texts_[id.value]; }
  size_t size() const { return texts_.size(); }

 private:
  char* Allocate(size_t size);

  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t block_free_ = 0;
  char* next_ = nullptr;
  std::vector<std::string_view> texts_;
  FlatMap<std::string_view, uint32_t> ids_;
};

}  // namespace memstrata
