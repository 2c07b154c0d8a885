#include "analysis/fragmentation/remedies.h"

#include <algorithm>

#include "index/curve.h"
#include "sim/recorded_state.h"

namespace memstrata {
namespace {

// Settings that are tried, in this order.
struct Setting {
  std::string_view text;
  void (*apply)(sim::AllocatorSettings& settings);
};
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr Setting kSettings[] = {
    {"expandable_segments:True", [](sim::AllocatorSettings& settings) { settings.expandable_segments = true; }},
    {"max_split_size_mb:128", [](sim::AllocatorSettings& settings) { settings.max_split_bytes = 128 * kMiB; }},
    {"roundup_power2_divisions:8",
     [](sim::AllocatorSettings& settings) { settings.rounding.power2_divisions.fill(8); }},
};

bool IsSame(const sim::AllocatorSettings& a, const sim::AllocatorSettings& b) {
  return a.expandable_segments == b.expandable_segments && a.max_split_bytes == b.max_split_bytes &&
         a.rounding.power2_divisions == b.rounding.power2_divisions;
}

// Under every setting the blocks that are live when a request fails are reserved, and the request: of the small pool
// and of the large one. More than the device gives fits with none.
uint64_t LeastNeeded(const Store& store, const Heap& heap, uint32_t failure_seq) {
  const BlockRounding rounding;
  uint64_t pool_bytes[2] = {0, 0};
  const auto add = [&](uint64_t requested_bytes) {
    const uint64_t block_bytes = rounding.BlockBytes(requested_bytes);
    pool_bytes[block_bytes <= sim::kSmallRequestBytes ? 0 : 1] += block_bytes;
  };
  const AllocationTable& table = store.allocations;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    if (IsLive(table, row, Moment{failure_seq})) add(table.size_bytes[row]);
  }
  add(store.events.size_bytes[store.EventRow(heap, failure_seq)]);
  const auto in_segments = [](uint64_t bytes) {
    return (bytes + sim::kLargeStepBytes - 1) / sim::kLargeStepBytes * sim::kLargeStepBytes;
  };
  return in_segments(pool_bytes[0]) + in_segments(pool_bytes[1]);
}

// No setting reserves less than live blocks take: one that gets nine tenths of what could be saved is as good as any.
bool IsNearly(uint64_t reserved_bytes, uint64_t least_bytes, uint64_t recorded_bytes) {
  if (reserved_bytes <= least_bytes) return true;
  return recorded_bytes > least_bytes && (reserved_bytes - least_bytes) * 10 <= recorded_bytes - least_bytes;
}

}  // namespace

bool Fits(const sim::Outcome& outcome, uint32_t failure_seq) {
  return outcome.first_new_failure_seq >= failure_seq &&
         std::any_of(outcome.failures.begin(), outcome.failures.end(),
                     [&](const sim::FailureOutcome& failure) { return failure.seq == failure_seq && failure.fits; });
}

std::optional<ReplayedRemedies> ReplayRemedies(const Store& store, const Heap& heap,
                                               std::optional<uint64_t> limit_bytes, const ReplayScope& scope) {
  if (!sim::CanReplay(heap)) return std::nullopt;
  const sim::AllocatorSettings recorded = sim::RecordedSettings(store, heap);
  const bool asks_for_one = scope.until_fits_seq != kNone;
  ReplayedRemedies result;
  if (asks_for_one && limit_bytes && LeastNeeded(store, heap, scope.until_fits_seq) > *limit_bytes) return result;
  sim::WhatIf what_if{recorded, limit_bytes};
  what_if.end_seq = scope.until_fits_seq;
  what_if.ends_at_new_failure = asks_for_one;
  const uint64_t recorded_peak_bytes = FindPeak(BuildCurve(store, heap, Measure::kReserved)).bytes;
  for (const Setting& setting : kSettings) {
    what_if.settings = recorded;
    setting.apply(what_if.settings);
    if (IsSame(what_if.settings, recorded)) continue;
    result.remedies.push_back({std::string(setting.text), sim::ReplayWith(store, heap, what_if)});
    const sim::Outcome& outcome = result.remedies.back().outcome;
    if (Fits(outcome, scope.until_fits_seq)) return result;
    const bool is_first = result.remedies.size() == 1;
    if (scope.least_saving_bytes == 0 || !is_first) continue;
    if (outcome.peak_reserved_bytes + scope.least_saving_bytes > recorded_peak_bytes) return result;
    const uint64_t least_bytes = FindPeak(BuildCurve(store, heap, Measure::kBlock)).bytes;
    if (IsNearly(outcome.peak_reserved_bytes, least_bytes, recorded_peak_bytes)) break;
  }
  if (asks_for_one) return result;
  what_if.settings = recorded;
  result.recorded = sim::ReplayWith(store, heap, what_if);
  const bool fails_alike = std::none_of(result.recorded.failures.begin(), result.recorded.failures.end(),
                                        [](const sim::FailureOutcome& failure) { return failure.fits; });
  result.is_faithful = result.recorded.peak_reserved_bytes == recorded_peak_bytes && fails_alike &&
                       result.recorded.first_new_failure_seq == kNone;
  return result;
}

}  // namespace memstrata
