#include "query/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "base/units.h"

namespace memstrata {
namespace {

constexpr size_t kMostDifferences = 5;

std::string NameOf(const RankFigures& rank) { return rank.rank ? fmt::format("rank {}", *rank.rank) : rank.file; }

// At the beginning of a sentence.
std::string FirstNameOf(const RankFigures& rank) { return rank.rank ? fmt::format("Rank {}", *rank.rank) : rank.file; }

std::string ExplanationText(const Explanation& explanation) {
  std::string groups;
  for (const auto& [value, mean_bytes] : explanation.mean_peak_bytes) {
    if (groups.size() > 200) {
      groups += ", …";
      break;
    }
    groups += fmt::format("{}{}: {}", groups.empty() ? "" : ", ", value, FormatBytes(mean_bytes));
  }
  return fmt::format(
      "{} explains {} of the difference ({}){}.", explanation.coordinate, FormatPercent(explanation.share), groups,
      explanation.is_assumed ? "; found by trying patterns of the number, name the layout to be sure" : "");
}

std::string MissingText(const RankComparison& comparison) {
  std::string names;
  for (size_t i = 0; i < std::min<size_t>(comparison.missing_ranks.size(), 12); ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", comparison.missing_ranks[i]);
  if (comparison.missing_count > 12) names += ", …";
  return fmt::format("{} missing: {}.",
                     comparison.missing_count == 1 ? "1 rank is" : FormatCount(comparison.missing_count) + " ranks are",
                     names);
}

void Describe(RanksAnswer& answer) {
  const RankComparison& comparison = answer.comparison;
  const RankFigures& worst = answer.ranks[comparison.worst];
  const RankFigures& median = answer.ranks[comparison.median];
  const bool alike = comparison.spread_bytes * 50 <= worst.peak_live_bytes;
  if (answer.ranks.size() == 1) {
    answer.sentences.push_back(
        fmt::format("{} alone: a live peak of {}.", FirstNameOf(worst), FormatBytes(worst.peak_live_bytes)));
  } else if (alike) {
    const std::string all = answer.ranks.size() == 2 ? "Both" : fmt::format("All {}", answer.ranks.size());
    answer.sentences.push_back(fmt::format("{} recordings are alike: their live peaks differ by {} of {}.", all,
                                           FormatBytes(comparison.spread_bytes), FormatBytes(worst.peak_live_bytes)));
  } else {
    answer.sentences.push_back(fmt::format("{} is worst: a live peak of {}, {} more than {}{}.", FirstNameOf(worst),
                                           FormatBytes(worst.peak_live_bytes),
                                           FormatBytes(worst.peak_live_bytes - median.peak_live_bytes), NameOf(median),
                                           answer.ranks.size() > 2 ? " in the middle" : ""));
  }
  for (const RankFigures& rank : answer.ranks) {
    if (rank.failure_count > 0)
      answer.sentences.push_back(
          fmt::format("{} ran out of memory {}.", FirstNameOf(rank), FormatCount(rank.failure_count, "time")));
  }
  if (comparison.explanation) answer.sentences.push_back(ExplanationText(*comparison.explanation));
  for (const UnreadableRank& unreadable : answer.unreadable)
    answer.sentences.push_back(fmt::format("{} cannot be read: {}", unreadable.file, unreadable.problem));
  for (size_t i = 1; i < answer.ranks.size(); ++i) {
    const RankFigures& before = answer.ranks[i - 1];
    const RankFigures& rank = answer.ranks[i];
    if (rank.rank && rank.rank == before.rank)
      answer.sentences.push_back(fmt::format("{} and {} both say rank {}.", before.file, rank.file, *rank.rank));
  }
  if (comparison.missing_count > 0) answer.sentences.push_back(MissingText(comparison));
}

std::string NamedTwice(std::span<const std::string> files) {
  std::vector<std::string> sorted(files.begin(), files.end());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  return twice == sorted.end() ? "" : *twice;
}

bool HaveDifferences(const RankFigures& median, const RankFigures& worst) {
  return median.peak_live_bytes != worst.peak_live_bytes && !median.heap.empty() && !worst.heap.empty();
}

Result<std::vector<Regression>> Differences(KeptAnalyses& before, const RankFigures& median, KeptAnalyses& after,
                                            const RankFigures& worst) {
  const Heap* old_heap = before.store().FindHeap(median.heap);
  const Heap* new_heap = after.store().FindHeap(worst.heap);
  if (old_heap == nullptr || new_heap == nullptr) return Fail(ErrorCode::kIo, "A recording changed while it was read.");
  const PeakHoldings holdings[] = {HoldingsOf(before.Of(*old_heap)), HoldingsOf(after.Of(*new_heap))};
  std::vector<Regression> sentences = DescribeDiff(holdings, DiffPeaks(holdings), kMostDifferences,
                                                   {.only_last = "is on the worst alone",
                                                    .only_first = "is not on the worst",
                                                    .more = "is larger on the worst",
                                                    .less = "is smaller on the worst"});
  sentences.erase(sentences.begin());  // that the peak is higher was said
  return sentences;
}

// Numbers, sorts and compares what was measured.
Status Compare(RanksAnswer& answer, const RanksOptions& options) {
  if (answer.ranks.empty()) return Fail(ErrorCode::kInvalidArgument, "There is no recording among these files.");
  NumberRanks(answer.ranks);
  for (RankFigures& rank : answer.ranks) {
    if (!options.layout.empty() && rank.rank) rank.coordinates = CoordinatesIn(options.layout, *rank.rank);
  }
  std::stable_sort(answer.ranks.begin(), answer.ranks.end(), [](const RankFigures& a, const RankFigures& b) {
    return std::tuple(!a.rank, a.rank.value_or(0), a.file) < std::tuple(!b.rank, b.rank.value_or(0), b.file);
  });
  uint64_t expected_count = options.layout.empty() ? 0 : 1;
  for (const LayoutAxis& axis : options.layout)
    expected_count = std::min<uint64_t>(expected_count * axis.size, 1'000'000);
  if (!options.layout.empty() && options.expected_count != 0 && options.expected_count != expected_count) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("The layout has {}, and the job {}: name all of its axes.",
                            FormatCount(expected_count, "rank"), FormatCount(options.expected_count)));
  }
  for (const UnreadableRank& unreadable : answer.unreadable) {
    if (unreadable.rank) expected_count = std::max(expected_count, std::min<uint64_t>(*unreadable.rank, 999'999) + 1);
  }
  answer.comparison = CompareRanks(answer.ranks, std::max(options.expected_count, expected_count));
  Describe(answer);
  return {};
}

}  // namespace

Result<std::vector<LayoutAxis>> ParseLayout(std::string_view text) {
  std::vector<LayoutAxis> layout;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const size_t equals = part.find('=');
    uint64_t size = 0;
    const char* begin = part.data() + std::min(equals + 1, part.size());
    const auto [end, problem] = std::from_chars(begin, part.data() + part.size(), size);
    const bool is_number = problem == std::errc{} && end == part.data() + part.size();
    if (equals == std::string_view::npos || equals == 0 || !is_number || size == 0 || size > 1'000'000 ||
        layout.size() == 8) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("A layout is written as dp=2,tp=4, outermost first; \"{}\" is not a part of one.", part));
    }
    layout.push_back({std::string(part.substr(0, equals)), size});
  }
  return layout;
}

Result<RanksAnswer> CompareRankFiles(std::span<const std::string> files, const RanksOptions& options,
                                     bool left_out_allowed,
                                     const std::function<Result<Store>(const std::string&)>& open) {
  if (const std::string twice = NamedTwice(files); !twice.empty())
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} is named twice.", twice));
  RanksAnswer answer;
  std::optional<Error> first_problem;
  for (const std::string& file : files) {
    const Result<Store> store = open(file);
    if (!store && left_out_allowed && store.error().code == ErrorCode::kUnsupportedFormat) {
      answer.left_out.push_back(file);
      continue;
    }
    if (!store) {
      answer.unreadable.push_back({file, RankOf(file), store.error().message});
      if (!first_problem) first_problem = store.error();
      continue;
    }
    KeptAnalyses analyses(*store);
    answer.ranks.push_back(MeasureRank(analyses, file));
  }
  if (answer.ranks.empty() && first_problem) return tl::unexpected(*first_problem);
  MEMSTRATA_TRY(Compare(answer, options));
  const RankFigures& median = answer.ranks[answer.comparison.median];
  const RankFigures& worst = answer.ranks[answer.comparison.worst];
  if (!HaveDifferences(median, worst)) return answer;
  MEMSTRATA_ASSIGN_OR_RETURN(const Store before, open(median.file));
  MEMSTRATA_ASSIGN_OR_RETURN(const Store after, open(worst.file));
  KeptAnalyses analyses_before(before);
  KeptAnalyses analyses_after(after);
  MEMSTRATA_ASSIGN_OR_RETURN(answer.differences, Differences(analyses_before, median, analyses_after, worst));
  return answer;
}

Result<RanksAnswer> CompareSources(KeptAnalyses& analyses) {
  const Store& store = analyses.store();
  RanksAnswer answer;
  for (uint32_t source = 0; source < store.sources.size(); ++source) {
    RankFigures figures = MeasureRank(analyses, store.sources[source].file, source);
    if (!figures.heap.empty()) answer.ranks.push_back(std::move(figures));
  }
  MEMSTRATA_TRY(Compare(answer, {}));
  const RankFigures& median = answer.ranks[answer.comparison.median];
  const RankFigures& worst = answer.ranks[answer.comparison.worst];
  if (!HaveDifferences(median, worst)) return answer;
  MEMSTRATA_ASSIGN_OR_RETURN(answer.differences, Differences(analyses, median, analyses, worst));
  return answer;
}

}  // namespace memstrata
