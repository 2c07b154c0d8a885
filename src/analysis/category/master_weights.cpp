#include "analysis/category/master_weights.h"

#include <algorithm>

#include "base/flat_map.h"
#include "model/allocator/block_rounding.h"

namespace memstrata {
namespace {

constexpr uint64_t kSmallestBlockBytes = BlockRounding::kSmallestBlockBytes;

class MasterMarker {
 public:
  MasterMarker(const Store& store, const Heap& heap, const Timeline& timeline, std::vector<Category>& categories)
      : table_(store.allocations), heap_(heap), timeline_(timeline), categories_(categories) {}

  void Run() {
    if (timeline_.steps.empty()) return;
    FindStates();
    if (largest_state_bytes_ == 0 || GradientsHaveStates()) return;
    FindMasters();
    if (masters_.empty()) return;
    MarkGradients();
    for (const uint32_t row : masters_) Of(row) = Category::kParameter;
  }

 private:
  Category& Of(uint32_t row) { return categories_[row - heap_.allocations.begin]; }
  uint64_t SizeOf(uint32_t row) const { return table_.size_bytes[row]; }

  static bool IsTwice(uint64_t size_bytes, uint64_t half_bytes) {
    return size_bytes <= 2 * half_bytes && size_bytes + 2 * kSmallestBlockBytes > 2 * half_bytes;
  }

  bool IsState(uint32_t row) {
    return Of(row) == Category::kOptimizerState && table_.alloc_seq[row] != kNone && SizeOf(row) > kSmallestBlockBytes;
  }

  void FindStates() {
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      if (!IsState(row)) continue;
      first_state_seq_ = std::min(first_state_seq_, table_.alloc_seq[row]);
      largest_state_bytes_ = std::max(largest_state_bytes_, SizeOf(row));
    }
  }

  // Without masters the largest gradient of a backward has the size of the largest state.
  bool GradientsHaveStates() {
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      if (Of(row) == Category::kGradient && SizeOf(row) == largest_state_bytes_) return true;
    }
    return false;
  }

  // Made before the first update, and there in the last step.
  bool Lasts(uint32_t row) const {
    return table_.alloc_seq[row] < first_state_seq_ &&
           table_.free_requested_seq[row] >= timeline_.steps.back().begin_seq;
  }

  // From the first largest master and its parameter on, both ways: each master has its parameter; a parameter that is
  // in float32 already has no master.
  void FindMasters() {
    std::vector<uint32_t> lasting;
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      if (Lasts(row)) lasting.push_back(row);
    }
    const auto anchor =
        std::find_if(lasting.begin(), lasting.end(), [&](uint32_t row) { return SizeOf(row) == largest_state_bytes_; });
    const auto original = std::find_if(lasting.begin(), anchor, [&](uint32_t row) {
      return Of(row) == Category::kParameter && IsTwice(largest_state_bytes_, SizeOf(row));
    });
    if (anchor == lasting.end() || original == anchor) return;
    auto first = anchor;
    for (auto parameter = original; parameter != lasting.begin() && first - 1 > original;) {
      if (IsTwice(SizeOf(*(first - 1)), SizeOf(*--parameter))) --first;
    }
    auto end = anchor + 1;
    for (auto parameter = original + 1; parameter < first && end != lasting.end(); ++parameter) {
      if (IsTwice(SizeOf(*end), SizeOf(*parameter))) ++end;
    }
    const auto master_count = end - first;
    const auto parameter_count =
        std::count_if(lasting.begin(), first, [&](uint32_t row) { return Of(row) == Category::kParameter; });
    if (master_count > 1 && 2 * master_count >= parameter_count && HaveStates(first, end)) masters_.assign(first, end);
  }

  template <typename Iterator>
  bool HaveStates(Iterator begin, Iterator end) {
    FlatMap<uint64_t, int64_t> missing;  // by size
    for (auto row = begin; row != end; ++row) missing[SizeOf(*row)] += SizeOf(*row) > kSmallestBlockBytes ? 1 : 0;
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      if (IsState(row)) --missing[SizeOf(row)];
    }
    return std::all_of(missing.begin(), missing.end(), [](const auto& of_size) { return of_size.second <= 0; });
  }

  // kNone for a step without one.
  std::vector<uint32_t> LastBackwards() const {
    std::vector<uint32_t> seqs(timeline_.steps.size(), kNone);
    for (const PhaseSpan& span : timeline_.phases) {
      if (span.step != kNone && IsBackward(span.phase)) seqs[span.step] = span.end_seq - 1;
    }
    return seqs;
  }

  bool IsGradients(uint32_t first_row) const {
    if (masters_.size() > heap_.allocations.end - first_row) return false;
    const uint32_t last_seq = table_.alloc_seq[first_row + masters_.size() - 1];
    // States of the first update have the same sizes; the gradients are there before.
    if (table_.alloc_seq[first_row] < first_state_seq_ && last_seq >= first_state_seq_) return false;
    for (uint32_t i = 0; i < masters_.size(); ++i) {
      const uint32_t row = first_row + i;
      if (SizeOf(row) != SizeOf(masters_[i]) || table_.free_requested_seq[row] < last_seq) return false;
    }
    return true;
  }

  // The first blocks after the last backward of a step that have the sizes of the masters, one after the other.
  void MarkGradients() {
    constexpr int kMostTries = 4;  // in a step: masters have equal sizes
    const std::vector<uint32_t> last_backward_seqs = LastBackwards();
    uint32_t tried_step = kNone;
    int tries = 0;
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      if (table_.alloc_seq[row] == kNone || SizeOf(row) != SizeOf(masters_[0])) continue;
      const uint32_t step = timeline_.step_of_event[table_.alloc_seq[row]];
      if (step == kNone || last_backward_seqs[step] == kNone || table_.alloc_seq[row] < last_backward_seqs[step])
        continue;
      if (step != tried_step) tries = 0;
      tried_step = step;
      if (++tries > kMostTries || !IsGradients(row)) continue;
      tries = kMostTries;
      for (uint32_t i = 0; i < masters_.size(); ++i) Of(row + i) = Category::kGradient;
    }
  }

  const AllocationTable& table_;
  const Heap& heap_;
  const Timeline& timeline_;
  std::vector<Category>& categories_;
  uint64_t largest_state_bytes_ = 0;
  uint32_t first_state_seq_ = kNone;
  std::vector<uint32_t> masters_;  // in the order of their making
};

}  // namespace

void MarkMasterWeights(const Store& store, const Heap& heap, const Timeline& timeline,
                       std::vector<Category>& categories) {
  MasterMarker(store, heap, timeline, categories).Run();
}

}  // namespace memstrata
