#include "report/picture/lens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace memstrata {
namespace {

constexpr uint32_t kEventsBefore = 20;
constexpr uint32_t kEventsAfter = 20;
constexpr double kNarrow = 6;  // px
constexpr double kWidth = 300;
constexpr double kHeight = 158;
constexpr double kClearance = 14;

// Width in px of the part of the curve around the peak that is within a tenth of it.
double WidthOfPeak(const HeapExplained& explained, const Plot& plot, uint32_t peak_seq) {
  const Curve& live = explained.analysis.live;
  const uint64_t close = explained.analysis.peak.bytes - explained.analysis.peak.bytes / 10;
  uint32_t begin = peak_seq;
  uint32_t end = peak_seq + 1;
  while (begin > 0 && live.At(Moment{begin}) >= close) --begin;
  while (end < explained.analysis.heap->events.size() && live.At(Moment{end}) >= close) ++end;
  return plot.X(end) - plot.X(begin);
}

// The place nearest to the peak where the close-up lies above the live curve.
std::optional<PlotArea> FindRoom(const Plot& plot, double peak_x, std::span<const double> leaders) {
  std::optional<PlotArea> best;
  double best_distance = 0;
  const PlotArea& area = plot.area();
  for (double left = area.left + 8; left + kWidth + 8 <= area.right(); left += 12) {
    if (peak_x > left - 24 && peak_x < left + kWidth + 24) continue;
    const bool covers =
        std::any_of(leaders.begin(), leaders.end(), [&](double x) { return x > left - 4 && x < left + kWidth + 4; });
    if (covers) continue;
    const double ceiling = plot.CeilingBetween(left - kClearance, left + kWidth + kClearance);
    if (ceiling - kClearance - kHeight < area.top + 4) continue;
    const double top = std::min(area.top + 16, ceiling - kClearance - kHeight);
    const double distance = std::fabs(left + kWidth / 2 - peak_x);
    if (best && distance >= best_distance) continue;
    best = PlotArea{left, top, kWidth, kHeight};
    best_distance = distance;
  }
  return best;
}

}  // namespace

Result<std::optional<Lens>> MakeLens(SessionIndex& session, HeapEntry& heap, const HeapExplained& explained,
                                     const PictureWindow& window, const Plot& plot, std::span<const double> leaders) {
  const uint32_t peak_seq = explained.analysis.peak.moment.seq();
  if (peak_seq == kNone || peak_seq < window.begin_seq || peak_seq >= window.end_seq ||
      WidthOfPeak(explained, plot, peak_seq) > kNarrow)
    return std::nullopt;
  const std::optional<PlotArea> box = FindRoom(plot, plot.X(peak_seq + 0.5), leaders);
  if (!box) return std::nullopt;
  const uint32_t begin = peak_seq - std::min(peak_seq, kEventsBefore);
  const uint32_t end = std::min(heap.heap.events.size(), peak_seq + kEventsAfter);
  const PlotArea inside = {box->left + 66, box->top + 32, box->width - 78, box->height - 44};
  MEMSTRATA_ASSIGN_OR_RETURN(Plot close_up, Plot::Make(session, heap, begin, end, inside, false));
  return Lens{*box, std::move(close_up), peak_seq, end - begin};
}

void DrawLens(const Lens& lens, const Plot& plot, const Theme& theme, Canvas& canvas) {
  const PlotArea& box = lens.box;
  const Point anchor = {plot.X(lens.peak_seq + 0.5),
                        plot.CeilingBetween(plot.X(lens.peak_seq), plot.X(lens.peak_seq + 1))};
  const double side = anchor.x < box.left ? box.left : box.right();
  const Point wedge[] = {anchor, {side, box.top}, {side, box.bottom()}};
  canvas.Polygon(wedge, theme.ink.Faded(0.07));
  canvas.Line(anchor, {side, box.top}, {theme.ink3, 0.8});
  canvas.Line(anchor, {side, box.bottom()}, {theme.ink3, 0.8});
  canvas.Rectangle({box.left - 1, box.top - 1}, box.width + 2, box.height + 2, theme.ink3, 5);
  canvas.Rectangle({box.left, box.top}, box.width, box.height, theme.surface, 4);
  canvas.Text({box.left + 10, box.top + 19}, fmt::format("The peak, {} events", FormatCount(lens.event_count)),
              {12, theme.ink, FontWeight::kBold, TextAnchor::kStart});
  lens.plot.DrawGrid(canvas, theme, false);
  lens.plot.DrawBands(canvas, theme);
  lens.plot.DrawLines(canvas, theme, {});
  lens.plot.DrawBandNames(canvas, theme);
}

}  // namespace memstrata
