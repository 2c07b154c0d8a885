#pragma once
// What the bands of a picture are, and how each looks: categories; where they are not known, stacks and operations.

#include <string>
#include <vector>

#include "query/session_index.h"
#include "report/picture/theme.h"

namespace memstrata {

struct BandStyle {
  std::string name;
  Colour fill;
  Colour text;  // on the fill
};

GroupBy BandsOf(SessionIndex& session, HeapEntry& heap);

/// One for each group of the grouping by `bands`. Stacks take the colours in the order of their bytes at the peak, as
/// on the page.
std::vector<BandStyle> StylesOf(GroupBy bands, const Grouping& grouping, const Theme& theme);

}  // namespace memstrata
