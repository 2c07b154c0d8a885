#pragma once
// The answer to "which rank of this job is worst, which are missing, and why do they differ": the data of `memstrata
// ranks`. The fields are those of docs/reference/json/ranks.schema.json.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/diff/diff.h"
#include "analysis/diff/regressions.h"
#include "analysis/ranks/ranks.h"
#include "base/result.h"

namespace memstrata {

struct RanksOptions {
  std::vector<LayoutAxis> layout;  // outermost first; empty = from the files' names
  uint64_t expected_count = 0;     // ranks of the job; 0 = as the layout or the highest number says
};

/// A file that was named but cannot be read: a rank that was killed while it wrote.
struct UnreadableRank {
  std::string file;
  std::optional<uint64_t> rank;  // from the file's name
  std::string problem;           // one sentence
};

struct RanksAnswer {
  std::vector<RankFigures> ranks;  // by number, then by file
  RankComparison comparison;
  std::vector<UnreadableRank> unreadable;
  std::vector<std::string> left_out;    // files of a folder that are no recordings
  std::vector<std::string> sentences;   // the worst first
  std::vector<Regression> differences;  // what the worst rank holds that the middle one does not
};

/// "pp=2,tp=4": at most eight axes, each of at least 1. errors: kInvalidArgument
Result<std::vector<LayoutAxis>> ParseLayout(std::string_view text);

/// Files are opened one after the other and let go, so that a job of any size fits into memory; two are opened again.
/// `left_out_allowed`: files that no reader knows are left out (a folder was named). Others that cannot be read are
/// listed, and their ranks are missing.
/// errors: kInvalidArgument when a file is named twice; when none can be read, the problem of the first
Result<RanksAnswer> CompareRankFiles(std::span<const std::string> files, const RanksOptions& options,
                                     bool left_out_allowed,
                                     const std::function<Result<Store>(const std::string&)>& open);

/// The same for the sources of one session, each a rank. errors: kInvalidArgument when none has a device heap
Result<RanksAnswer> CompareSources(KeptAnalyses& analyses);

}  // namespace memstrata
