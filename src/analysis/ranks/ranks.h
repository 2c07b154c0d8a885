#pragma once
// Several recordings of one job, one for each rank: which one is worst, which are missing, and which coordinate of the
// parallel layout explains the difference.

#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/kept_analyses.h"

namespace memstrata {

/// Names of a rank's coordinates and their values: {"pp", 1}, {"tp", 3}.
using Coordinates = std::map<std::string, uint64_t>;

/// What is compared; everything else of the recording can be let go.
struct RankFigures {
  std::string file;
  std::optional<uint64_t> rank;  // from the file's name
  Coordinates coordinates;       // from the file's name, or from the layout that the user names
  std::string heap;              // the device heap with the highest live peak
  uint64_t peak_live_bytes = 0;
  std::optional<uint64_t> peak_reserved_bytes;
  uint64_t end_live_bytes = 0;
  uint64_t failure_count = 0;                                 // out-of-memory events
  std::array<uint64_t, std::size(kCategoryNames)> at_peak{};  // bytes by category
};

/// The rank in a file's name: what follows "rank", or "r" as a word of its own. Nothing where no such word is.
std::optional<uint64_t> RankOf(std::string_view file);
/// Coordinates in a file's name such as "tp0_pp1", "dp-2": dp, tp, pp, ep, cp, sp, fsdp followed by a number.
Coordinates CoordinatesOf(std::string_view file);

/// One axis of the layout of a job; ranks count along the last axis first.
struct LayoutAxis {
  std::string name;
  uint64_t size = 0;
};
Coordinates CoordinatesIn(const std::vector<LayoutAxis>& layout, uint64_t rank);

/// Gives ranks to files whose names do not say "rank": the last number of the name, when all names are otherwise equal.
void NumberRanks(std::vector<RankFigures>& ranks);

/// Of the device heaps of one source, or of all with kNone.
RankFigures MeasureRank(KeptAnalyses& analyses, std::string file, uint32_t source = kNone);

/// A coordinate whose value says most of how a rank's peak differs from the others'.
struct Explanation {
  std::string coordinate;                        // "pp", or a pattern of the rank's number: "rank % 4", "rank / 8"
  bool is_assumed = false;                       // found by trying patterns of the number; no layout was named
  double share = 0;                              // of the variance of the peaks (adjusted R²), at most 1
  std::map<uint64_t, uint64_t> mean_peak_bytes;  // by value
};

struct RankComparison {
  size_t worst = 0;                     // index of the highest live peak
  size_t median = 0;                    // index of a rank in the middle
  uint64_t spread_bytes = 0;            // highest - lowest peak
  std::vector<uint64_t> missing_ranks;  // at most kMostMissing are named
  uint64_t missing_count = 0;
  std::optional<Explanation> explanation;  // nothing when the peaks are alike, or no coordinate says most of it
};
inline constexpr size_t kMostMissing = 64;

/// `expected_count`: ranks of the job, 0 = as many as the highest number says. At least one rank. cost: O(ranks²)
RankComparison CompareRanks(const std::vector<RankFigures>& ranks, uint64_t expected_count);

}  // namespace memstrata
