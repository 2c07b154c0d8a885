#pragma once
// What steps leave, where memory never falls back: which of them, how much, and whether it goes on.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace memstrata {

/// Four of five changes rise.
constexpr bool IsSteadyRise(size_t rise_count, size_t change_count) { return rise_count * 10 >= change_count * 8; }

/// Changes from step to step that are no noise; places are indices into the changes.
struct Rises {
  std::vector<size_t> at;  // at least one
  int64_t total_bytes = 0;
  int64_t median_bytes = 0;
  int64_t smallest_bytes = 0;
  int64_t largest_bytes = 0;
  size_t change_count = 0;  // in all
  size_t largest_gap = 1;   // in steps, between two rises

  size_t QuietAfter() const { return change_count - 1 - at.back(); }
  bool IsSteady() const { return IsSteadyRise(at.size(), change_count - at.front()); }
  /// Nothing more came for long: for more than twice the longest wait before.
  bool HasEnded() const { return QuietAfter() > 2 * largest_gap; }
};

/// Changes of at most `noise_bytes` either way count as none. Without a value where a step falls back, or none rises.
std::optional<Rises> FindRises(std::span<const int64_t> changes, int64_t noise_bytes);

/// The rises that make a leak: those from the earliest one on from which memory rises until the end, in both halves of
/// what is left of the recording. Three steps make a rule, or two where no other was seen.
std::optional<Rises> FindLeak(std::span<const int64_t> changes, const Rises& rises);

/// The changes with none before and in the last fall, where what follows it is more than twice as long as any stretch
/// without a fall before: memory that fell for another reason and has grown ever since. Without a value where nothing
/// falls, or it falls again and again.
std::optional<std::vector<int64_t>> SinceLastFall(std::span<const int64_t> changes, int64_t noise_bytes);

/// What a leak adds in a step.
struct Slope {
  int64_t bytes_per_step = 0;
  bool is_alike = false;  // nearly all steps that add, add this much
  size_t period = 0;      // in steps, after which the same changes come again; 0 = none
};

/// Of memory that falls back several times, each time to a higher level, evenly so: a leak under what comes and goes.
std::optional<Slope> SlopeOfValleys(std::span<const int64_t> changes, int64_t noise_bytes);

/// The rises without the small late ones, where nine tenths came early, without longer waits, and then next to nothing
/// for as long as that took.
Rises WithoutAfterthoughts(std::span<const int64_t> changes, const Rises& rises);

/// Of steps that all add: the median where they are alike, else the mean, over whole periods if there is one. Where not
/// every step adds: the mean from the first rise to the last one, which leaves the wait after the last out.
Slope FindSlope(std::span<const int64_t> changes, const Rises& leak);

/// Of at least one value; of an even number of them the upper one.
int64_t Median(std::vector<int64_t> values);

}  // namespace memstrata
