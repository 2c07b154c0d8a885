#pragma once
// Explains pasted out-of-memory messages and logs: `memstrata oom` on a text.

#include <string_view>
#include <vector>

#include "oom/oom_report.h"

namespace memstrata::oom {

/// Every report of a known format in the text, in its order; equal ones (other ranks, repeated lines) are one report
/// with a count. Empty when nothing is known. Any bytes may be given. cost: O(bytes)
std::vector<OomReport> ExplainText(std::string_view text);

}  // namespace memstrata::oom
