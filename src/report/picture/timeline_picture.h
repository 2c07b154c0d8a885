#pragma once
// The memory timeline of a heap with its marks written onto it, ready for a paper or a thread: title, steps and phases,
// labels with leaders, stacked bands, a lens on a narrow peak, and what would lower the peak.

#include "query/explain.h"
#include "query/session_index.h"
#include "report/picture/canvas.h"
#include "report/picture/theme.h"

namespace memstrata {

inline constexpr double kPictureWidth = 1600;
inline constexpr double kPictureHeight = 1000;

/// cost: O(allocations + events)
Status DrawTimeline(SessionIndex& session, HeapEntry& heap, const HeapExplained& explained, const Theme& theme,
                    Canvas& canvas);

}  // namespace memstrata
