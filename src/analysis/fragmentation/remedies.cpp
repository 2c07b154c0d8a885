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
  const uint64_t recorded_peak_bytes = FindPeak(BuildCurve(store, heap, Measure::kReserved)).bytes;
  ReplayedRemedies result;
  for (const Setting& setting : kSettings) {
    sim::AllocatorSettings changed = recorded;
    setting.apply(changed);
    if (IsSame(changed, recorded)) continue;
    result.remedies.push_back({std::string(setting.text), sim::ReplayWith(store, heap, {changed, limit_bytes})});
    const sim::Outcome& outcome = result.remedies.back().outcome;
    if (Fits(outcome, scope.until_fits_seq)) break;
    const bool is_first = result.remedies.size() == 1;
    if (is_first && scope.least_saving_bytes > 0 &&
        outcome.peak_reserved_bytes + scope.least_saving_bytes > recorded_peak_bytes)
      return result;
  }
  const bool nothing_fits = scope.until_fits_seq != kNone &&
                            (result.remedies.empty() || !Fits(result.remedies.back().outcome, scope.until_fits_seq));
  if (nothing_fits) return result;
  result.recorded = sim::ReplayWith(store, heap, {recorded, limit_bytes});
  const bool fails_alike = std::none_of(result.recorded.failures.begin(), result.recorded.failures.end(),
                                        [](const sim::FailureOutcome& failure) { return failure.fits; });
  result.is_faithful = result.recorded.peak_reserved_bytes == recorded_peak_bytes && fails_alike &&
                       result.recorded.first_new_failure_seq == kNone;
  return result;
}

}  // namespace memstrata
