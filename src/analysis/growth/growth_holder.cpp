#include "analysis/growth/growth_holder.h"

#include <algorithm>
#include <vector>

#include "analysis/category/parameter_sizes.h"
#include "analysis/frames/useful_frames.h"
#include "analysis/heap_analysis.h"
#include "analysis/phases/loop_jumps.h"
#include "base/flat_map.h"
#include "index/heap_state.h"

namespace memstrata {
namespace {

using BytesByKey = FlatMap<uint32_t, uint64_t>;

/// Which blocks are what training needs for each parameter, once it is trained.
class StateCounter {
 public:
  StateCounter(const HeapAnalysis& analysis, const FlatMap<uint64_t, uint32_t>& parameter_sizes)
      : analysis_(analysis), parameter_sizes_(parameter_sizes) {}

  /// Whether the block is one more that some parameter of its size needs.
  bool IsNeeded(uint32_t row) {
    constexpr uint32_t kMostStates = 3;  // of an optimizer, with a copy in full precision
    const uint64_t size = analysis_.store->allocations.size_bytes[row];
    const auto parameters = parameter_sizes_.find(size);
    if (parameters == parameter_sizes_.end()) return false;
    const Category category = analysis_.CategoryOf(row);
    if (category == Category::kGradient) return ++gradients_[size] <= parameters->second;
    return category == Category::kOptimizerState && ++states_[size] <= kMostStates * parameters->second;
  }

 private:
  const HeapAnalysis& analysis_;
  const FlatMap<uint64_t, uint32_t>& parameter_sizes_;
  FlatMap<uint64_t, uint32_t> gradients_;  // by size
  FlatMap<uint64_t, uint32_t> states_;
};

// Of most bytes; of equal ones the lowest. 0 stands for no stack.
uint32_t LargestKey(const BytesByKey& bytes_by_key) {
  uint32_t largest = 0;
  uint64_t most = 0;
  for (const auto& [key, bytes] : bytes_by_key) {
    if (key == 0 || bytes < most || (bytes == most && key > largest)) continue;
    most = bytes;
    largest = key;
  }
  return largest;
}

}  // namespace

GrowthHolder FindGrowthHolder(const HeapAnalysis& analysis, uint32_t begin_seq, uint32_t end_seq,
                              uint32_t kept_until_seq) {
  const AllocationTable& table = analysis.store->allocations;
  const auto parameter_sizes = CountParameterSizes(*analysis.store, *analysis.heap, analysis.categories);
  StateCounter states(analysis, parameter_sizes);
  GrowthHolder holder;
  BytesByKey by_stack;
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    const uint32_t begin = table.alloc_seq[row];
    const bool stays =
        begin != kNone && begin >= begin_seq && begin < end_seq && table.free_requested_seq[row] >= kept_until_seq;
    if (!stays) continue;
    const uint64_t bytes = BlockBytesOrRequested(table, row);
    by_stack[table.stack[row].value] += bytes;
    holder.bytes += bytes;
    if (parameter_sizes.contains(table.size_bytes[row])) holder.parameter_like_bytes += bytes;
    if (states.IsNeeded(row)) holder.state_bytes += bytes;
  }
  const UsefulFrames frames(*analysis.store);
  BytesByKey by_frame;  // by frame + 1
  for (const auto& [stack, bytes] : by_stack) {
    if (stack != 0) by_frame[frames.Of({stack}).value + 1] += bytes;
  }
  const uint32_t line = LargestKey(by_frame);
  if (line == 0) return holder;
  holder.largest_bytes = by_frame[line];
  erase_if(by_stack, [&](const auto& entry) { return entry.first == 0 || frames.Of({entry.first}).value + 1 != line; });
  holder.stack = {LargestKey(by_stack)};
  return holder;
}

StackId FindReleasingStack(const HeapAnalysis& analysis, std::span<const uint32_t> falling_steps) {
  if (!FreesHaveOwnStacks(*analysis.store, *analysis.heap)) return {0};
  const AllocationTable& table = analysis.store->allocations;
  const std::vector<uint32_t>& step_of_event = analysis.timeline.step_of_event;
  BytesByKey by_stack;
  uint64_t total_bytes = 0;
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    const uint32_t freed = table.free_requested_seq[row];
    if (table.alloc_seq[row] == kNone || freed == kNone) continue;
    const uint32_t step = step_of_event[freed];
    const uint32_t made_in = step_of_event[table.alloc_seq[row]];
    // What one step hands to the next one is nothing that has piled up.
    const bool has_waited = step != kNone && made_in != kNone && made_in + 2 <= step;
    if (!has_waited || !std::binary_search(falling_steps.begin(), falling_steps.end(), step)) continue;
    const uint64_t bytes = BlockBytesOrRequested(table, row);
    by_stack[analysis.store->events.stack[analysis.heap->events.begin + freed].value] += bytes;
    total_bytes += bytes;
  }
  const uint32_t largest = LargestKey(by_stack);
  if (largest == 0 || by_stack[largest] * 10 < total_bytes * 8) return {0};
  const FrameId innermost = analysis.store->stacks.stacks().frame[largest];
  const bool is_own = IsPythonFrame(*analysis.store, innermost) && !IsFrameworkCode(*analysis.store, innermost);
  return is_own ? StackId{largest} : StackId{0};
}

}  // namespace memstrata
