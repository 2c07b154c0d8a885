#include "analysis/category/static_cache.h"

#include <algorithm>

#include "analysis/category/parameter_sizes.h"

namespace memstrata {
namespace {

constexpr size_t kFewestBlocks = 4;  // of two layers
constexpr uint64_t kSmallestBytes = 64 << 10;

class CacheFinder {
 public:
  CacheFinder(const Store& store, const Heap& heap, const Timeline& timeline, std::vector<Category>& categories)
      : table_(store.allocations),
        heap_(heap),
        timeline_(timeline),
        categories_(categories),
        parameter_counts_(CountParameterSizes(store, heap, categories)) {}

  void Run() {
    // In order of events, as blocks of a recording are.
    for (uint32_t begin = heap_.allocations.begin; begin < heap_.allocations.end;) {
      uint32_t end = begin + 1;
      while (end < heap_.allocations.end && IsAlike(begin, end)) ++end;
      if (IsCache(begin, end)) {
        for (uint32_t row = begin; row < end; ++row) Of(row) = Category::kKvCache;
      }
      begin = end;
    }
  }

 private:
  Category& Of(uint32_t row) const { return categories_[row - heap_.allocations.begin]; }

  bool IsAlike(uint32_t a, uint32_t b) const {
    return table_.size_bytes[a] == table_.size_bytes[b] && table_.stack[a] == table_.stack[b] && Of(a) == Of(b) &&
           table_.alloc_seq[b] != kNone;
  }

  // Whether a call of the model ends while the block lives.
  bool LivesAcrossCall(uint32_t row) const {
    const uint32_t begin = table_.alloc_seq[row];
    const uint32_t end = std::min(table_.free_requested_seq[row], heap_.events.size());
    const auto phases = timeline_.phases.begin();
    auto span = std::partition_point(phases, timeline_.phases.end(),
                                     [&](const PhaseSpan& phase) { return phase.end_seq <= begin; });
    for (; span != timeline_.phases.end() && span->begin_seq < end; ++span) {
      if (IsInference(span->phase) && span->begin_seq > begin && span->end_seq <= end) return true;
    }
    return false;
  }

  bool HasLayers(size_t layer_count, uint64_t other_than_bytes) const {
    return std::any_of(parameter_counts_.begin(), parameter_counts_.end(), [&](const auto& size) {
      return size.first != other_than_bytes && size.second >= layer_count && size.second % layer_count == 0;
    });
  }

  // The program makes a cache with its own lines; without stacks it is what is loaded last.
  bool MayBeCache(uint32_t begin, uint32_t end) const {
    const Category category = Of(begin);
    if (category == Category::kUnknown || category == Category::kInput) return true;
    if (category != Category::kParameter || table_.stack[begin].value != 0) return false;
    return end == heap_.allocations.end || Of(end) != Category::kParameter;
  }

  bool IsCache(uint32_t begin, uint32_t end) const {
    const size_t count = end - begin;
    const uint64_t bytes = table_.size_bytes[begin];
    if (count < kFewestBlocks || count % 2 != 0 || bytes < kSmallestBytes || table_.alloc_seq[begin] == kNone)
      return false;
    return MayBeCache(begin, end) && HasLayers(count / 2, bytes) && LivesAcrossCall(begin);
  }

  const AllocationTable& table_;
  const Heap& heap_;
  const Timeline& timeline_;
  std::vector<Category>& categories_;
  const FlatMap<uint64_t, uint32_t> parameter_counts_;  // by size
};

}  // namespace

void MarkStaticCaches(const Store& store, const Heap& heap, const Timeline& timeline,
                      std::vector<Category>& categories) {
  if (timeline.phases.empty() || timeline.Has(Phase::kBackward)) return;
  CacheFinder(store, heap, timeline, categories).Run();
}

}  // namespace memstrata
