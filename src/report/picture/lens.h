#pragma once
// A close-up of a peak that is too narrow to be seen in the whole picture.

#include <optional>

#include "report/picture/picture_window.h"
#include "report/picture/plot.h"

namespace memstrata {

struct Lens {
  PlotArea box;  // the frame around the close-up
  Plot plot;
  uint32_t peak_seq = 0;
  uint32_t event_count = 0;
};

/// Nothing where the peak is wide enough, or where the plot has no room for a close-up that covers no leader.
Result<std::optional<Lens>> MakeLens(SessionIndex& session, HeapEntry& heap, const HeapExplained& explained,
                                     const PictureWindow& window, const Plot& plot, std::span<const double> leaders);

void DrawLens(const Lens& lens, const Plot& plot, const Theme& theme, Canvas& canvas);

}  // namespace memstrata
