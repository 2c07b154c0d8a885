#pragma once
// The idle blocks of a pool in the order in which the allocator looks for them. A sorted set in short chunks: a replay
// makes several changes an event, and a tree spends most of its time on nodes that lie apart.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace memstrata::sim {

using BlockId = uint32_t;

struct FreeEntry {
  uint32_t stream = 0;
  BlockId block = 0;
  uint64_t size_bytes = 0;  // 0 for unmapped ranges, which are in order of address
  uint64_t addr = 0;        // of no two blocks the same
};

/// By stream, then size, then address.
constexpr bool operator<(const FreeEntry& a, const FreeEntry& b) {
  if (a.stream != b.stream) return a.stream < b.stream;
  if (a.size_bytes != b.size_bytes) return a.size_bytes < b.size_bytes;
  return a.addr < b.addr;
}

class FreeList {
 public:
  /// Invalid after any change of the list.
  class Iterator {
   public:
    const FreeEntry& operator*() const { return list_->chunks_[chunk_][at_]; }
    const FreeEntry* operator->() const { return &**this; }
    Iterator& operator++() {
      if (++at_ < list_->chunks_[chunk_].size()) return *this;
      ++chunk_;
      at_ = 0;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    friend class FreeList;
    Iterator(const FreeList* list, size_t chunk, size_t at) : list_(list), chunk_(chunk), at_(at) {}

    const FreeList* list_;
    size_t chunk_;
    size_t at_;
  };

  Iterator begin() const { return {this, 0, 0}; }
  Iterator end() const { return {this, chunks_.size(), 0}; }

  /// The first entry that is not before `key`. cost: O(log entries), as all that follows but for a short move
  Iterator LowerBound(const FreeEntry& key) const;
  void Insert(const FreeEntry& entry);
  /// The entry must be there.
  void Erase(const FreeEntry& entry) { Erase(LowerBound(entry)); }
  void Erase(Iterator it);

 private:
  using Chunk = std::vector<FreeEntry>;

  void MergeWithNext(size_t chunk);

  std::vector<Chunk> chunks_;     // none is empty
  std::vector<FreeEntry> lasts_;  // of each chunk
};

}  // namespace memstrata::sim
