#pragma once
// The rows of steps and phases above a plot, and the dotted lines where steps begin.

#include "report/picture/picture_window.h"
#include "report/picture/plot.h"

namespace memstrata {

void DrawPhaseRows(const HeapExplained& explained, const PictureWindow& window, const Plot& plot, double top,
                   const Theme& theme, Canvas& canvas);

}  // namespace memstrata
