#pragma once
// Whether memory grows from step to step, how, and who holds what stays.

#include <optional>
#include <string_view>
#include <vector>

#include "model/store/store.h"

namespace memstrata {

struct HeapAnalysis;

enum class GrowthKind : uint8_t {
  kNoGrowth,
  kLeak,           // steps leave more and more, each of them or some of them, until the recording ends
  kWarmUp,         // a state of the size of the parameters, or what several steps left, came and then nothing; or a
                   // cache grows with new shapes
  kSawtooth,       // grows and falls back: a collector frees what the program dropped
  kOneOff,         // one step left something, no other did
  kFragmentation,  // what is reserved grows, what is live does not
  kUnknown,        // two steps left something: neither once nor time and again
};
inline constexpr std::string_view kGrowthKindNames[] = {"none",    "leak",          "warmup", "sawtooth",
                                                        "one_off", "fragmentation", "unknown"};

/// The request with which growth ends the run.
struct OutOfMemoryEnd {
  uint32_t step = 0;
  uint64_t requested_bytes = 0;
  bool is_recorded = false;  // it happened; else it follows from the capacity, at the latest
  bool is_estimate = false;  // steps add unlike amounts: neither the step nor the request is sure
  // Where it is not recorded, what of the device live memory cannot have:
  uint64_t idle_bytes = 0;     // held by the allocator beside live blocks, and given back by no flush
  uint64_t outside_bytes = 0;  // of the driver, libraries and other processes; 0 = not known
  bool is_outside_measured = false;
  std::optional<uint32_t> likely_step;  // with `outside_bytes`, where that is assumed; `step` is without
};

struct Growth {
  GrowthKind kind = GrowthKind::kNoGrowth;
  std::optional<int64_t> bytes_per_step;  // in blocks of the allocator, the mean where not every step adds or they add
                                          // unlike amounts; of a one-off or warm-up, all of it; of no growth, the
                                          // median where it is next to nothing
  std::optional<uint32_t> begin_step;
  std::optional<StackId> holder_stack;  // of the most bytes that stay
  uint64_t holder_bytes = 0;            // of all that stays
  uint64_t largest_holder_bytes = 0;    // of the line that `holder_stack` ends in
  uint32_t step_count = 0;              // steps looked at
  bool is_generation = false;           // of one text: its cache grows by design
  uint32_t rising_step_count = 0;       // steps from `begin_step` on that left something
  uint32_t last_rising_step = 0;        // the last of them
  int64_t median_rise_bytes = 0;        // of what these left
  int64_t smallest_rise_bytes = 0;
  int64_t largest_rise_bytes = 0;
  bool are_rises_alike = false;  // of a leak: nearly all of them left about the same
  uint32_t period = 0;           // of a leak: steps after which the same rises come again; 0 = none
  int64_t later_bytes = 0;       // of a one-off or warm-up: next to nothing, left by steps after these
  bool is_shape_cache = false;   // just the steps that bring a new shape left something
  std::optional<OutOfMemoryEnd> ends_in_oom;
  uint64_t reserved_growth_bytes = 0;   // of fragmentation: what the allocator reserves more at the end
  std::optional<uint64_t> tooth_bytes;  // of a sawtooth: the largest fall
  uint32_t tooth_count = 0;
  std::vector<uint64_t> level_bytes;  // live blocks at the start of each step, and at the end of the last

  /// Of a leak: nearly all steps from `begin_step` on left something.
  bool EachStepRises() const { return rising_step_count * 10 >= (step_count - 1 - begin_step.value_or(0)) * 8; }
};

/// Of everything else that `analysis` knows. cost: O(events + allocations)
Growth FindGrowth(const HeapAnalysis& analysis);

}  // namespace memstrata
