#pragma once
// The part of `memstrata summary` on the screen that describes a heap of an XPlane profile.

#include <set>
#include <string>

#include "query/summary.h"
#include "report/text/text_style.h"

namespace memstrata {

/// `heap.profile` must be set; lines of at most `width` columns. Sentences in `said` are left out, new ones are added.
std::string ProfileText(const Store& store, const HeapSummary& heap, const TextStyle& style, size_t width,
                        std::set<std::string>& said);

}  // namespace memstrata
