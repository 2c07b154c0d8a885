#pragma once
// Names of models and devices as people write them in tables of measurements → those of the planner.

#include <string_view>

#include "plan/cards.h"

namespace memstrata::bench {

/// The built-in model that a text means, "" when there is none. The longest name in it counts; case and punctuation do
/// not: "Llama 3.1 8B (instruct)" → llama-3.1-8b.
std::string_view FindModelName(std::string_view text);

/// The device that a text means. kNotFound: none of the table, and no capacity is given ("A6000", "16GB class (15.77
/// GiB)" are capacities).
Result<plan::Card> FindDevice(std::string_view text);

}  // namespace memstrata::bench
