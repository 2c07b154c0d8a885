#include "analysis/ranks/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace memstrata {
namespace {

constexpr double kMostOfIt = 0.8;  // share of the variance that a coordinate must explain
constexpr double kAlike = 0.02;    // peaks that differ by less than this share are alike
constexpr std::string_view kAxisNames[] = {"fsdp", "dp", "tp", "pp", "ep", "cp", "sp"};

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string_view BaseName(std::string_view file) {
  const size_t slash = file.find_last_of('/');
  return slash == std::string_view::npos ? file : file.substr(slash + 1);
}

std::optional<uint64_t> NumberAt(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] == '_' || text[at] == '-' || text[at] == '=' || text[at] == '.')) ++at;
  uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  return problem == std::errc{} ? std::optional<uint64_t>(value) : std::nullopt;
}

// A number that directly follows a word, which is not the end of a longer one.
std::optional<uint64_t> NumberBehind(std::string_view name, std::string_view word) {
  for (size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    if (at > 0 && IsLetter(name[at - 1])) continue;
    if (const auto value = NumberAt(name, at + word.size())) return value;
  }
  return std::nullopt;
}

// The last number of a name, and the name without it.
struct NumberedName {
  std::optional<uint64_t> number;
  std::string rest;
};

NumberedName SplitNumber(std::string_view file) {
  size_t end = file.size();
  while (end > 0 && !IsDigit(file[end - 1]) && file[end - 1] != '/') --end;
  size_t begin = end;
  while (begin > 0 && IsDigit(file[begin - 1])) --begin;
  return {NumberAt(file.substr(0, end), begin), std::string(file.substr(0, begin)) + std::string(file.substr(end))};
}

using Groups = std::map<uint64_t, std::vector<double>>;

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Share of the variance that lies between the groups, less what so many groups explain of numbers without any pattern
// (adjusted R²).
double ShareBetween(const Groups& groups) {
  std::vector<double> all;
  for (const auto& [value, peaks] : groups) all.insert(all.end(), peaks.begin(), peaks.end());
  const double mean = MeanOf(all);
  double total = 0;
  double between = 0;
  for (const double peak : all) total += (peak - mean) * (peak - mean);
  for (const auto& [value, peaks] : groups) {
    const double of_group = MeanOf(peaks) - mean;
    between += of_group * of_group * static_cast<double>(peaks.size());
  }
  if (total <= 0) return 0;
  const auto free_values = static_cast<double>(all.size() - groups.size());  // above 0: some group has two members
  return 1 - (1 - between / total) * static_cast<double>(all.size() - 1) / free_values;
}

// A grouping that only names each rank explains nothing.
bool SaysSomething(const Groups& groups) {
  return groups.size() > 1 &&
         std::any_of(groups.begin(), groups.end(), [](const auto& group) { return group.second.size() > 1; });
}

class ExplanationSearch {
 public:
  explicit ExplanationSearch(const std::vector<RankFigures>& ranks) : ranks_(ranks) {}

  std::optional<Explanation> Find() {
    std::set<std::string> names;
    for (const RankFigures& rank : ranks_) {
      for (const auto& [name, value] : rank.coordinates) names.insert(name);
    }
    for (const std::string& name : names) {
      Try(name, false, [&](const RankFigures& rank) -> std::optional<uint64_t> {
        const auto found = rank.coordinates.find(name);
        return found == rank.coordinates.end() ? std::nullopt : std::optional<uint64_t>(found->second);
      });
    }
    if (names.empty()) TryPatterns();
    return best_ && best_->share >= kMostOfIt ? best_ : std::nullopt;
  }

 private:
  void TryPatterns() {
    for (uint64_t divisor = 2; divisor < ranks_.size(); ++divisor) {
      if (ranks_.size() % divisor != 0) continue;
      Try(fmt::format("rank % {}", divisor), true, [&](const RankFigures& rank) -> std::optional<uint64_t> {
        return rank.rank ? std::optional<uint64_t>(*rank.rank % divisor) : std::nullopt;
      });
      Try(fmt::format("rank / {}", divisor), true, [&](const RankFigures& rank) -> std::optional<uint64_t> {
        return rank.rank ? std::optional<uint64_t>(*rank.rank / divisor) : std::nullopt;
      });
    }
    Try("rank 0 alone", true, [](const RankFigures& rank) -> std::optional<uint64_t> {
      return rank.rank ? std::optional<uint64_t>(*rank.rank == 0 ? 0 : 1) : std::nullopt;
    });
  }

  template <class ValueOf>
  void Try(const std::string& name, bool is_assumed, ValueOf&& value_of) {
    Groups groups;
    for (const RankFigures& rank : ranks_) {
      const std::optional<uint64_t> value = value_of(rank);
      if (!value) return;
      groups[*value].push_back(static_cast<double>(rank.peak_live_bytes));
    }
    if (!SaysSomething(groups)) return;
    const double share = ShareBetween(groups);
    // Of equally good ones the coarser: fewer groups.
    const bool is_better = !best_ || share > best_->share + 0.01 ||
                           (share > best_->share - 0.01 && groups.size() < best_->mean_peak_bytes.size());
    if (!is_better) return;
    best_ = Explanation{name, is_assumed, share, {}};
    for (const auto& [value, peaks] : groups)
      best_->mean_peak_bytes[value] = static_cast<uint64_t>(MeanOf(peaks) + 0.5);
  }

  const std::vector<RankFigures>& ranks_;
  std::optional<Explanation> best_;
};

void FindMissing(const std::vector<RankFigures>& ranks, uint64_t expected_count, RankComparison& comparison) {
  std::set<uint64_t> present;
  for (const RankFigures& rank : ranks) {
    if (rank.rank) present.insert(*rank.rank);
  }
  if (present.empty()) return;
  constexpr uint64_t kMostRanks = 1'000'000;  // a number in a file's name may be anything
  const uint64_t count = std::max(expected_count, *present.rbegin() + 1);
  if (count > kMostRanks) return;
  for (uint64_t rank = 0; rank < count; ++rank) {
    if (present.contains(rank)) continue;
    ++comparison.missing_count;
    if (comparison.missing_ranks.size() < kMostMissing) comparison.missing_ranks.push_back(rank);
  }
}

}  // namespace

std::optional<uint64_t> RankOf(std::string_view file) {
  const std::string_view name = BaseName(file);
  for (const std::string_view word : {"rank", "Rank", "RANK", "r"}) {
    if (const auto value = NumberBehind(name, word)) return value;
  }
  return std::nullopt;
}

void NumberRanks(std::vector<RankFigures>& ranks) {
  if (ranks.size() < 2) return;
  std::set<std::string> templates;
  std::vector<uint64_t> numbers;
  for (const RankFigures& rank : ranks) {
    const NumberedName name = SplitNumber(rank.file);
    if (rank.rank || !name.number) return;
    templates.insert(name.rest);
    numbers.push_back(*name.number);
  }
  if (templates.size() != 1) return;
  for (size_t i = 0; i < ranks.size(); ++i) ranks[i].rank = numbers[i];
}

Coordinates CoordinatesOf(std::string_view file) {
  Coordinates coordinates;
  for (const std::string_view axis : kAxisNames) {
    if (const auto value = NumberBehind(BaseName(file), axis)) coordinates[std::string(axis)] = *value;
  }
  return coordinates;
}

Coordinates CoordinatesIn(const std::vector<LayoutAxis>& layout, uint64_t rank) {
  Coordinates coordinates;
  for (auto axis = layout.rbegin(); axis != layout.rend(); ++axis) {
    coordinates[axis->name] = rank % axis->size;
    rank /= axis->size;
  }
  return coordinates;
}

RankFigures MeasureRank(KeptAnalyses& analyses, std::string file, uint32_t source) {
  const Store& store = analyses.store();
  RankFigures figures;
  figures.file = std::move(file);
  figures.rank = RankOf(figures.file);
  figures.coordinates = CoordinatesOf(figures.file);
  for (const Heap& heap : store.heaps) {
    if (heap.kind != HeapKind::kDevice || (source != kNone && heap.source != source)) continue;
    const HeapAnalysis& analysis = analyses.Of(heap);
    if (!figures.heap.empty() && analysis.peak.bytes <= figures.peak_live_bytes) continue;
    figures.heap = heap.id;
    figures.peak_live_bytes = analysis.peak.bytes;
    figures.end_live_bytes = analysis.live.At(Moment::End(heap));
    figures.peak_reserved_bytes.reset();
    if (heap.capabilities.has_segments)
      figures.peak_reserved_bytes = FindPeak(BuildCurve(store, heap, Measure::kReserved)).bytes;
    figures.failure_count = 0;
    for (uint32_t row = heap.events.begin; row < heap.events.end; ++row)
      figures.failure_count += store.events.kind[row] == EventKind::kOutOfMemory ? 1 : 0;
    figures.at_peak.fill(0);
    for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
      if (IsLive(store.allocations, row, analysis.peak.moment))
        figures.at_peak[static_cast<size_t>(analysis.CategoryOf(row))] += store.allocations.size_bytes[row];
    }
  }
  return figures;
}

RankComparison CompareRanks(const std::vector<RankFigures>& ranks, uint64_t expected_count) {
  RankComparison comparison;
  std::vector<size_t> order(ranks.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return ranks[a].peak_live_bytes > ranks[b].peak_live_bytes; });
  comparison.worst = order.front();
  comparison.median = order[order.size() / 2];
  comparison.spread_bytes = ranks[order.front()].peak_live_bytes - ranks[order.back()].peak_live_bytes;
  FindMissing(ranks, expected_count, comparison);
  const double highest = static_cast<double>(ranks[comparison.worst].peak_live_bytes);
  if (ranks.size() > 2 && static_cast<double>(comparison.spread_bytes) > kAlike * highest)
    comparison.explanation = ExplanationSearch(ranks).Find();
  return comparison;
}

}  // namespace memstrata
