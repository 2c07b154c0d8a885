#pragma once
// The changes of a diff in sentences: what made the peak grow, and from which recording on.

#include <string>
#include <string_view>
#include <vector>

#include "analysis/diff/diff.h"

namespace memstrata {

struct Regression {
  std::string text;
  int64_t bytes = 0;
};

/// How the sentences put it: two moments of one program, or two ranks of one job.
struct DiffWords {
  std::string_view only_last = "is new at the peak";
  std::string_view only_first = "is gone from the peak";
  std::string_view more = "grows";
  std::string_view less = "falls";
};

/// The first sentence is about the peak; at most `most_count` more about origins that changed it by a tenth or more;
/// those of one name and purpose together. cost: O(rows · log rows)
std::vector<Regression> DescribeDiff(std::span<const PeakHoldings> recordings, const HeapDiff& diff, size_t most_count,
                                     const DiffWords& words = {});

}  // namespace memstrata
