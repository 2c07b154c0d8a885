#include "analysis/growth/growth_holder.h"

#include <algorithm>

#include "analysis/category/parameter_sizes.h"
#include "analysis/frames/useful_frames.h"
#include "analysis/heap_analysis.h"
#include "base/flat_map.h"
#include "index/heap_state.h"

namespace memstrata {
namespace {

using BytesByKey = FlatMap<uint32_t, uint64_t>;

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

}  // namespace memstrata
