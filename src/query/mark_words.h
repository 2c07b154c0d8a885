#pragma once
// What the marks of a heap are called: the one table of these words, for the page and for pictures.

#include <string>

#include "analysis/marks/marks.h"

namespace memstrata {

struct MarkWords {
  std::string name;    // "Forward ramp"
  std::string title;   // "Forward ramp, +1.69 GiB"
  std::string detail;  // "36 saved layer inputs"; a few words that stand below the title
};

MarkWords WordsOf(const Mark& mark);

/// Order in which labels are placed, the lowest first: what explains most of a run is left out last.
int LabelRank(MarkKind kind);

}  // namespace memstrata
