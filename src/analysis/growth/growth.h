#pragma once
// Whether memory grows from step to step, how, and who holds what stays.

#include <optional>
#include <string_view>
#include <vector>

#include "analysis/heap_analysis.h"

namespace memstrata {

enum class GrowthKind : uint8_t {
  kNoGrowth,
  kLeak,           // every step leaves about the same more
  kWarmUp,         // a state of the size of the parameters came once in a later step, then nothing
  kSawtooth,       // grows and falls back: a collector frees what the program dropped
  kOneOff,         // one step left something, then nothing
  kFragmentation,  // what is reserved grows, what is live does not
  kUnknown,
};
inline constexpr std::string_view kGrowthKindNames[] = {"none",    "leak",          "warmup", "sawtooth",
                                                        "one_off", "fragmentation", "unknown"};

/// The request with which growth ends the run.
struct OutOfMemoryEnd {
  uint32_t step = 0;
  uint64_t requested_bytes = 0;
  bool is_recorded = false;  // it happened; else it follows from the capacity, at the latest
};

struct Growth {
  GrowthKind kind = GrowthKind::kNoGrowth;
  std::optional<int64_t> bytes_per_step;  // in blocks of the allocator; of a one-off or warm-up, the jump
  std::optional<uint32_t> begin_step;
  std::optional<StackId> holder_stack;  // of the most bytes that stay
  uint64_t holder_bytes = 0;
  uint32_t step_count = 0;     // steps looked at
  bool is_generation = false;  // its cache grows by design; bytes_per_step is then unknown
  std::optional<OutOfMemoryEnd> ends_in_oom;
  uint64_t reserved_growth_bytes = 0;   // of fragmentation: what the allocator reserves more at the end
  std::optional<uint64_t> tooth_bytes;  // of a sawtooth: the largest fall
  uint32_t tooth_count = 0;
  std::vector<uint64_t> level_bytes;  // live blocks at the start of each step, and at the end of the last
};

/// cost: O(events + allocations)
Growth FindGrowth(const HeapAnalysis& analysis);

}  // namespace memstrata
