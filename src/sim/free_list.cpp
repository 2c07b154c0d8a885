#include "sim/free_list.h"

#include <algorithm>

namespace memstrata::sim {
namespace {

constexpr size_t kMostInChunk = 64;
constexpr size_t kFewInChunk = kMostInChunk / 4;  // then it may join the next one

// operator< without branches, whose outcomes in a search cannot be foretold.
bool IsBefore(const FreeEntry& a, const FreeEntry& b) {
  const auto less = [](auto x, auto y) { return static_cast<unsigned>(x < y); };
  const auto same = [](auto x, auto y) { return static_cast<unsigned>(x == y); };
  return (less(a.stream, b.stream) |
          (same(a.stream, b.stream) &
           (less(a.size_bytes, b.size_bytes) | (same(a.size_bytes, b.size_bytes) & less(a.addr, b.addr))))) != 0;
}

// As std::lower_bound.
size_t LowerIndex(const std::vector<FreeEntry>& sorted, const FreeEntry& key) {
  if (sorted.empty()) return 0;
  const FreeEntry* first = sorted.data();
  for (size_t count = sorted.size(); count > 1;) {
    const size_t half = count / 2;
    first += IsBefore(first[half - 1], key) ? half : 0;
    count -= half;
  }
  return static_cast<size_t>(first - sorted.data()) + (IsBefore(*first, key) ? 1 : 0);
}

}  // namespace

FreeList::Iterator FreeList::LowerBound(const FreeEntry& key) const {
  const size_t chunk = LowerIndex(lasts_, key);
  return chunk == chunks_.size() ? end() : Iterator(this, chunk, LowerIndex(chunks_[chunk], key));
}

void FreeList::Insert(const FreeEntry& entry) {
  if (chunks_.empty()) {
    chunks_.emplace_back().reserve(kMostInChunk);
    lasts_.emplace_back();
  }
  const size_t index = std::min(LowerIndex(lasts_, entry), chunks_.size() - 1);
  Chunk& chunk = chunks_[index];
  chunk.insert(chunk.begin() + static_cast<ptrdiff_t>(LowerIndex(chunk, entry)), entry);
  lasts_[index] = chunk.back();
  if (chunk.size() < kMostInChunk) return;
  Chunk upper;
  upper.reserve(kMostInChunk);
  upper.assign(chunk.begin() + kMostInChunk / 2, chunk.end());
  chunk.resize(kMostInChunk / 2);
  lasts_[index] = chunk.back();
  lasts_.insert(lasts_.begin() + static_cast<ptrdiff_t>(index) + 1, upper.back());
  chunks_.insert(chunks_.begin() + static_cast<ptrdiff_t>(index) + 1, std::move(upper));
}

void FreeList::Erase(Iterator it) {
  Chunk& chunk = chunks_[it.chunk_];
  chunk.erase(chunk.begin() + static_cast<ptrdiff_t>(it.at_));
  if (chunk.empty()) {
    chunks_.erase(chunks_.begin() + static_cast<ptrdiff_t>(it.chunk_));
    lasts_.erase(lasts_.begin() + static_cast<ptrdiff_t>(it.chunk_));
    return;
  }
  lasts_[it.chunk_] = chunk.back();
  if (chunk.size() < kFewInChunk) MergeWithNext(it.chunk_);
}

void FreeList::MergeWithNext(size_t index) {
  if (index + 1 >= chunks_.size()) return;
  Chunk& chunk = chunks_[index];
  const Chunk& next = chunks_[index + 1];
  if (chunk.size() + next.size() > kMostInChunk / 2) return;
  chunk.insert(chunk.end(), next.begin(), next.end());
  lasts_[index] = chunk.back();
  chunks_.erase(chunks_.begin() + static_cast<ptrdiff_t>(index) + 1);
  lasts_.erase(lasts_.begin() + static_cast<ptrdiff_t>(index) + 1);
}

}  // namespace memstrata::sim
