#pragma once
// The static plans of compiled programs on the screen.

#include <string>

#include "model/store/store.h"
#include "report/text/text_style.h"

namespace memstrata {

/// One program in full, several as a table with the largest one in full. Empty without programs.
std::string ProgramsText(const Store& store, const TextStyle& style, size_t width, size_t top_count);

}  // namespace memstrata
