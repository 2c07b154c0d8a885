#pragma once
// What a workload wrote against a reference that is known to be right.

#include <optional>
#include <string>

#include "base/result.h"

namespace memstrata::accept {

struct OutputComparison {
  bool is_equal = false;
  std::string text;  // one sentence: what was compared, and where the two part
};

/// Without a tolerance the bytes must be equal. With one, the texts between numbers must be, and of each pair of
/// numbers |a - b| <= tolerance * max(1, |b|), b the reference's; a number that is not finite equals none. errors:
/// kNotFound, kLimitExceeded (a file beyond 256 MiB)   cost: O(size)
Result<OutputComparison> CompareOutput(const std::string& output, const std::string& reference,
                                       std::optional<double> tolerance);

/// The same of two texts.
OutputComparison CompareTexts(std::string_view output, std::string_view reference, std::optional<double> tolerance);

}  // namespace memstrata::accept
