#pragma once
// Where to look when a line of a budget is to be understood or checked on a real run.

#include <string_view>

namespace memstrata::plan {

/// A sentence for the term; empty for what was given as it is.
std::string_view InvestigationOf(std::string_view term);

}  // namespace memstrata::plan
