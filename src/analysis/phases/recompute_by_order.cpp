#include "analysis/phases/recompute_by_order.h"

#include <algorithm>

#include "base/flat_map.h"

namespace memstrata {
namespace {

// Allocations in a row that are compared.
constexpr size_t kGram = 3;

/// How sure a match of sizes has to be. Long functions are recognised although some of their blocks are kept; functions
/// of a few allocations have to match in every block, and not by one size alone.
enum class Strictness : uint8_t { kLong, kShort };
constexpr size_t kShortestLong = 12;

class RecomputeFinder {
 public:
  RecomputeFinder(const OrderEvents& events, const BackwardPass& pass) : events_(events), pass_(pass) {
    forward_allocs_ = AllocsIn(pass.forward_begin, pass.begin);
    backward_allocs_ = AllocsIn(pass.begin, pass.end);
  }

  std::vector<Recompute> Run(Strictness strictness) {
    CollectGrams(strictness);
    std::vector<Recompute> found;
    std::vector<size_t> lengths;
    for (size_t i = 0; i + kGram <= backward_allocs_.size();) {
      size_t end = i;
      while (end + kGram <= backward_allocs_.size() && grams_.contains(HashAt(backward_allocs_, end))) ++end;
      if (end == i) {
        ++i;
        continue;
      }
      AddParts(i, end + kGram - 1, found, lengths);
      i = end + kGram - 1;
    }
    const size_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
    if (strictness == Strictness::kLong && longest < kShortestLong) return {};
    return KeepLong(found, lengths, longest);
  }

 private:
  std::vector<uint32_t> AllocsIn(uint32_t begin, uint32_t end) const {
    std::vector<uint32_t> allocs;
    for (uint32_t i = begin; i < end; ++i) {
      if (events_[i].is_alloc) allocs.push_back(i);
    }
    return allocs;
  }

  uint64_t HashAt(const std::vector<uint32_t>& allocs, size_t at) const {
    uint64_t hash = 0;
    for (size_t k = 0; k < kGram; ++k) hash = hash * 0x9E3779B97F4A7C15ULL + events_[allocs[at + k]].size_bytes;
    return hash;
  }

  // What the forward allocated and gave back before the backward.
  void CollectGrams(Strictness strictness) {
    grams_.clear();
    for (size_t i = 0; i + kGram <= forward_allocs_.size(); ++i) {
      size_t kept = 0;
      bool is_one_size = true;
      for (size_t k = i; k < i + kGram; ++k) {
        kept += events_[forward_allocs_[k]].LivesBeyond(pass_.begin) && events_[forward_allocs_[k]].free_index != kNone;
        is_one_size = is_one_size && events_[forward_allocs_[k]].size_bytes == events_[forward_allocs_[i]].size_bytes;
      }
      const bool is_fit = strictness == Strictness::kLong ? kept <= 1 : kept == 0 && !is_one_size;
      if (is_fit) grams_[HashAt(forward_allocs_, i)] = true;
    }
  }

  // A function that runs again frees nothing older than itself; states of random generators excepted.
  bool FreesOlder(uint32_t begin, uint32_t end, uint32_t first) const {
    constexpr uint64_t kGeneratorStateBytes = 16;
    for (uint32_t i = begin; i < end; ++i) {
      const OrderEvent& event = events_[i];
      const bool is_older = event.alloc_index == kNone || event.alloc_index < first;
      if (!event.is_alloc && event.size_bytes > kGeneratorStateBytes && is_older) return true;
    }
    return false;
  }

  void AddParts(size_t begin, size_t end, std::vector<Recompute>& found, std::vector<size_t>& lengths) const {
    size_t first = begin;
    for (size_t i = begin; i < end; ++i) {
      const bool ends =
          i + 1 == end || FreesOlder(backward_allocs_[i], backward_allocs_[i + 1], backward_allocs_[first]);
      if (!ends) continue;
      if (i + 1 - first >= kGram && IsUsedUpPieceByPiece(first, i + 1)) {
        found.push_back({backward_allocs_[first], backward_allocs_[i]});
        lengths.push_back(i + 1 - first);
      }
      first = i + 1;
    }
  }

  // What it makes is given back by the backward of one operation after the other; buffers of a gather go at once.
  bool IsUsedUpPieceByPiece(size_t begin, size_t end) const {
    const uint32_t last = backward_allocs_[end - 1];
    const uint32_t used_from = end < backward_allocs_.size() ? backward_allocs_[end] : pass_.end;
    std::vector<uint32_t> frees;
    for (size_t i = begin; i < end; ++i) {
      const uint32_t free_index = events_[backward_allocs_[i]].free_index;
      if (free_index != kNone && free_index > last) frees.push_back(free_index);
    }
    std::sort(frees.begin(), frees.end());
    size_t run_count = 0;
    size_t late_run_count = 0;
    size_t late_count = 0;
    for (size_t i = 0; i < frees.size(); ++i) {
      const bool starts_run = i == 0 || HasAllocBetween(frees[i - 1], frees[i]);
      const bool is_late = frees[i] > used_from;
      run_count += starts_run ? 1 : 0;
      late_run_count += starts_run && is_late ? 1 : 0;
      late_count += is_late ? 1 : 0;
    }
    const bool goes_at_once = late_run_count <= 1 && late_count * 5 >= (end - begin) * 4;
    return run_count >= 2 && run_count * 4 >= frees.size() && !goes_at_once;
  }

  bool HasAllocBetween(uint32_t begin, uint32_t end) const {
    constexpr uint32_t kFar = 64;  // no run of frees inside a backward is as long
    if (end - begin > kFar) return true;
    for (uint32_t i = begin; i < end; ++i) {
      if (events_[i].is_alloc) return true;
    }
    return false;
  }

  // Layers are alike: parts much shorter than the longest are chance. A few percent of the forward is chance too.
  std::vector<Recompute> KeepLong(const std::vector<Recompute>& found, const std::vector<size_t>& lengths,
                                  size_t longest) const {
    std::vector<Recompute> kept;
    size_t sum = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      if (lengths[i] * 4 < longest) continue;
      kept.push_back(found[i]);
      sum += lengths[i];
    }
    if (sum * 10 < forward_allocs_.size()) kept.clear();
    return kept;
  }

  const OrderEvents& events_;
  const BackwardPass pass_;
  std::vector<uint32_t> forward_allocs_;
  std::vector<uint32_t> backward_allocs_;
  FlatMap<uint64_t, bool> grams_;
};

}  // namespace

std::vector<Recompute> FindRecomputes(const OrderEvents& events, const BackwardPass& pass) {
  RecomputeFinder finder(events, pass);
  std::vector<Recompute> found = finder.Run(Strictness::kLong);
  return found.empty() ? finder.Run(Strictness::kShort) : found;
}

}  // namespace memstrata
