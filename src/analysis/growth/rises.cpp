#include "analysis/growth/rises.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace memstrata {
namespace {

bool IsAbout(int64_t bytes, int64_t expected_bytes, int64_t share) {
  return std::abs(bytes - expected_bytes) * share <= std::abs(expected_bytes);
}

// What suffixes of the rises are like, by their first rise.
class Suffixes {
 public:
  Suffixes(std::span<const int64_t> changes, const Rises& rises)
      : rises_(rises), at_(rises.at), sum_from_(rises.at.size() + 1, 0), largest_gap_from_(rises.at.size(), 1) {
    for (size_t i = at_.size(); i-- > 0;) {
      sum_from_[i] = sum_from_[i + 1] + changes[at_[i]];
      if (i + 1 < at_.size()) largest_gap_from_[i] = std::max(largest_gap_from_[i + 1], at_[i + 1] - at_[i]);
    }
  }

  bool GoesOn(size_t first) const {
    const size_t count = at_.size() - first;
    const size_t window = rises_.change_count - at_[first];
    const bool is_steady = IsSteadyRise(count, window);
    if (count < (is_steady && at_[first] == 0 ? 2U : 3U)) return false;
    // Of all rises but the first ones, a few that happen to lie so make no rule.
    if (first > 0 && !is_steady && !IsRegular(first)) return false;
    return rises_.QuietAfter() <= 2 * largest_gap_from_[first] && RisesInSecondHalf(first, window);
  }

 private:
  // No wait is longer than twice the mean.
  bool IsRegular(size_t first) const {
    constexpr size_t kFewest = 4;
    const size_t gap_count = at_.size() - 1 - first;
    return gap_count + 1 >= kFewest && largest_gap_from_[first] * gap_count <= 2 * (at_.back() - at_[first]);
  }

  // A leak spreads its bytes over both halves; what fills up has most of them in the first.
  bool RisesInSecondHalf(size_t first, size_t window) const {
    constexpr int64_t kLeastShare = 4;  // a quarter
    const size_t middle = at_[first] + (window + 1) / 2;
    const auto later = std::lower_bound(at_.begin(), at_.end(), middle) - at_.begin();
    return sum_from_[static_cast<size_t>(later)] * kLeastShare >= sum_from_[first];
  }

  const Rises& rises_;
  const std::vector<size_t>& at_;
  std::vector<int64_t> sum_from_;
  std::vector<size_t> largest_gap_from_;
};

Rises MakeRises(std::span<const int64_t> changes, std::span<const size_t> at) {
  Rises rises;
  rises.change_count = changes.size();
  std::vector<int64_t> values;
  for (const size_t i : at) {
    if (!rises.at.empty()) rises.largest_gap = std::max(rises.largest_gap, i - rises.at.back());
    rises.at.push_back(i);
    values.push_back(changes[i]);
  }
  rises.total_bytes = std::accumulate(values.begin(), values.end(), int64_t{0});
  const auto [smallest, largest] = std::minmax_element(values.begin(), values.end());
  rises.smallest_bytes = *smallest;
  rises.largest_bytes = *largest;
  rises.median_bytes = Median(std::move(values));
  return rises;
}

// The shortest one that the changes show at least twice; 0 = none. Blocks of the allocator differ a bit for equal
// requests.
size_t FindPeriod(std::span<const int64_t> changes) {
  constexpr size_t kLongest = 64;  // bounds the cost
  for (size_t period = 2; period <= std::min(kLongest, changes.size() / 2); ++period) {
    size_t i = period;
    while (i < changes.size() && IsAbout(changes[i], changes[i - period], 20)) ++i;
    if (i == changes.size()) return period;
  }
  return 0;
}

int64_t Mean(std::span<const int64_t> values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0}) / static_cast<int64_t>(values.size());
}

}  // namespace

int64_t Median(std::vector<int64_t> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

std::optional<Rises> FindRises(std::span<const int64_t> changes, int64_t noise_bytes) {
  std::vector<size_t> at;
  for (size_t i = 0; i < changes.size(); ++i) {
    if (changes[i] < -noise_bytes) return std::nullopt;
    if (changes[i] > noise_bytes) at.push_back(i);
  }
  if (at.empty()) return std::nullopt;
  return MakeRises(changes, at);
}

std::optional<Rises> FindLeak(std::span<const int64_t> changes, const Rises& rises) {
  const Suffixes suffixes(changes, rises);
  for (size_t first = 0; first < rises.at.size(); ++first) {
    if (suffixes.GoesOn(first)) return MakeRises(changes, std::span(rises.at).subspan(first));
  }
  return std::nullopt;
}

std::optional<std::vector<int64_t>> SinceLastFall(std::span<const int64_t> changes, int64_t noise_bytes) {
  size_t begin = 0;  // of what follows the last fall
  size_t longest = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    if (changes[i] >= -noise_bytes) continue;
    longest = std::max(longest, i - begin);
    begin = i + 1;
  }
  if (begin == 0 || changes.size() - begin <= 2 * longest) return std::nullopt;
  std::vector<int64_t> since(changes.begin(), changes.end());
  std::fill_n(since.begin(), begin, 0);
  return since;
}

std::optional<Slope> SlopeOfValleys(std::span<const int64_t> changes, int64_t noise_bytes) {
  constexpr size_t kFewest = 2;  // between three valleys
  std::vector<int64_t> slopes;   // a step, from valley to valley
  int64_t level = 0;             // since the first change
  std::optional<size_t> valley;  // the change that led to the last one
  int64_t valley_level = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    level += changes[i];
    if (changes[i] >= -noise_bytes) continue;
    if (valley) {
      if (level - valley_level <= noise_bytes) return std::nullopt;
      slopes.push_back((level - valley_level) / static_cast<int64_t>(i - *valley));
    }
    valley = i;
    valley_level = level;
  }
  if (slopes.size() < kFewest) return std::nullopt;
  const int64_t mean = Mean(slopes);
  const bool is_even =
      std::all_of(slopes.begin(), slopes.end(), [&](int64_t slope) { return IsAbout(slope, mean, 4); });
  return is_even ? std::optional<Slope>({mean, true, 0}) : std::nullopt;
}

Rises WithoutAfterthoughts(std::span<const int64_t> changes, const Rises& rises) {
  int64_t sum = 0;
  size_t count = 0;
  while (count < rises.at.size() && sum * 10 < rises.total_bytes * 9) sum += changes[rises.at[count++]];
  const size_t longest_wait = std::max<size_t>(MakeRises(changes, std::span(rises.at).first(count)).largest_gap, 1);
  while (count < rises.at.size() && rises.at[count] - rises.at[count - 1] <= longest_wait) ++count;
  const size_t took = rises.at[count - 1] - rises.at.front() + 1;
  if (rises.change_count - 1 - rises.at[count - 1] < took) return rises;
  return MakeRises(changes, std::span(rises.at).first(count));
}

Slope FindSlope(std::span<const int64_t> changes, const Rises& leak) {
  Slope slope;
  size_t alike_count = 0;
  for (const size_t i : leak.at) alike_count += IsAbout(changes[i], leak.median_bytes, 10) ? 1 : 0;
  slope.is_alike = alike_count * 4 >= leak.at.size() * 3;
  const std::span<const int64_t> since = changes.subspan(leak.at.front());
  if (!leak.IsSteady()) {
    const auto steps = static_cast<int64_t>(leak.at.back() - leak.at.front());
    slope.bytes_per_step = (leak.total_bytes - changes[leak.at.front()]) / std::max<int64_t>(steps, 1);
  } else if (slope.is_alike) {
    slope.bytes_per_step = leak.median_bytes;
  } else {
    slope.period = FindPeriod(since);
    const size_t whole = slope.period == 0 ? since.size() : since.size() / slope.period * slope.period;
    slope.bytes_per_step = Mean(since.last(whole));
  }
  return slope;
}

}  // namespace memstrata
