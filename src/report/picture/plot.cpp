#include "report/picture/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace memstrata {
namespace {

constexpr double kNameSize = 13;
constexpr double kNameHeight = 20;
constexpr double kNamePadding = 8;

double NiceStep(double span, double part_count) {
  const double power = std::pow(10, std::floor(std::log10(std::max(1.0, span / part_count))));
  const double ratio = span / part_count / power;
  return std::max(1.0, (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10) * power);
}

// The most that a band holds around columns [first, last): in the hill on which they lie, not in other ones.
uint64_t MostOfHill(std::span<const uint64_t> band, size_t first, size_t last) {
  const uint64_t foot =
      *std::min_element(band.begin() + static_cast<ptrdiff_t>(first), band.begin() + static_cast<ptrdiff_t>(last));
  while (first > 0 && band[first - 1] >= foot) --first;
  while (last < band.size() && band[last] >= foot) ++last;
  return *std::max_element(band.begin() + static_cast<ptrdiff_t>(first), band.begin() + static_cast<ptrdiff_t>(last));
}

}  // namespace

Result<Plot> Plot::Make(SessionIndex& session, HeapEntry& heap, uint32_t begin_seq, uint32_t end_seq, PlotArea area,
                        bool from_zero) {
  const auto most_columns = static_cast<uint32_t>(area.width);
  MEMSTRATA_ASSIGN_OR_RETURN(
      ColumnGrid grid,
      MakeColumnGrid(heap.heap_index, {Axis::kSeq, begin_seq, end_seq, std::min(most_columns, end_seq - begin_seq)}));
  const GroupBy bands = BandsOf(session, heap);
  const Grouping& grouping = session.GroupingOf(heap, bands);
  StackTile tile = StackLayout(session.store(), heap.heap, grid, grouping.rows).Lay({.min_bytes = 1ULL << 62});
  Plot plot(heap, grouping, std::move(grid), std::move(tile), area);
  plot.bands_ = bands;
  plot.begin_seq_ = begin_seq;
  plot.end_seq_ = end_seq;
  plot.FitTop(from_zero);
  return plot;
}

uint64_t Plot::Highest(const IndexedCurve& curve, uint32_t column) const {
  if (heap_->heap.events.size() == 0) return curve.curve.begin_bytes;
  return curve.extremes.Find(grid_.begin_seq[column], grid_.begin_seq[column + 1]).max;
}

void Plot::FitTop(bool from_zero) {
  uint64_t top = 1;
  uint64_t lowest = ~uint64_t{0};
  for (uint32_t column = 0; column < grid_.column_count(); ++column) {
    top = std::max(top, Highest(heap_->heap_index.Live(), column));
    if (HasReserved() && from_zero) top = std::max(top, Highest(heap_->heap_index.Reserved(), column));
    lowest = std::min(lowest, Highest(heap_->heap_index.Live(), column));
  }
  if (!from_zero) base_bytes_ = static_cast<double>(lowest) - 0.25 * static_cast<double>(top - lowest);
  base_bytes_ = std::max(base_bytes_, 0.0);
  top_bytes_ = base_bytes_ + (static_cast<double>(top) - base_bytes_) * 1.03 + 1;
}

double Plot::CeilingBetween(double left, double right) const {
  double ceiling = area_.bottom();
  for (uint32_t column = 0; column < grid_.column_count(); ++column) {
    if (ColumnX(column + 1) < left || ColumnX(column) > right) continue;
    ceiling = std::min(ceiling, Y(static_cast<double>(Highest(heap_->heap_index.Live(), column))));
  }
  return ceiling;
}

void Plot::DrawGrid(Canvas& canvas, const Theme& theme, bool with_events) const {
  const double span = top_bytes_ - base_bytes_;
  const double step = std::exp2(std::max(0.0, std::ceil(std::log2(span / (with_events ? 7 : 3)))));
  const TextLook label = {12, theme.ink3, FontWeight::kRegular, TextAnchor::kEnd};
  for (double bytes = std::ceil(base_bytes_ / step) * step; bytes <= top_bytes_; bytes += step) {
    canvas.Line({area_.left, Y(bytes)}, {area_.right(), Y(bytes)}, {theme.grid, 1});
    canvas.Text({area_.left - 8, Y(bytes) + 4}, bytes == 0 ? "0" : FormatBytes(static_cast<uint64_t>(bytes)), label);
  }
  if (!with_events) return;
  const double event_step = NiceStep(end_seq_ - begin_seq_, 8);
  const TextLook event_label = {12, theme.ink3, FontWeight::kRegular, TextAnchor::kMiddle};
  for (double seq = std::ceil(begin_seq_ / event_step) * event_step; seq < end_seq_; seq += event_step)
    canvas.Text({X(seq), area_.bottom() + 18}, FormatCount(static_cast<uint64_t>(seq)), event_label);
  canvas.Text({area_.left - 8, area_.bottom() + 18}, "event", label);
}

std::vector<Point> Plot::StepsOf(const IndexedCurve& curve) const {
  std::vector<Point> points;
  for (uint32_t column = 0; column < grid_.column_count(); ++column) {
    const double y = Y(static_cast<double>(Highest(curve, column)));
    if (points.empty() || points.back().y != y) {
      points.push_back({ColumnX(column), y});
      points.push_back({ColumnX(column + 1), y});
    } else {
      points.back().x = ColumnX(column + 1);
    }
  }
  return points;
}

void Plot::DrawIdle(Canvas& canvas, const Theme& theme) const {
  if (!HasReserved()) return;
  constexpr double kGap = 7;
  const auto width = static_cast<size_t>(area_.width);
  std::vector<double> top(width + 1, area_.bottom());  // of the reserved line, by pixel
  for (uint32_t column = 0; column < grid_.column_count(); ++column) {
    const double y = Y(static_cast<double>(Highest(heap_->heap_index.Reserved(), column)));
    const auto begin = static_cast<size_t>(std::max(0.0, std::floor(ColumnX(column) - area_.left)));
    const auto end = static_cast<size_t>(std::max(0.0, std::ceil(ColumnX(column + 1) - area_.left)));
    for (size_t x = begin; x < std::min(end, top.size()); ++x) top[x] = std::min(top[x], y);
  }
  const Stroke stroke = {theme.idle, 0.8};
  for (double start = -area_.height; start < area_.width; start += kGap) {  // rising to the right from the bottom
    const auto y_at = [&](size_t x) { return area_.bottom() - (static_cast<double>(x) - start); };
    const auto last = static_cast<size_t>(std::clamp(start + area_.height, 0.0, area_.width));
    for (auto x = static_cast<size_t>(std::max(0.0, std::ceil(start))); x < last;) {
      size_t end = x;
      while (end < last && y_at(end) >= top[end]) ++end;
      if (end > x + 1)
        canvas.Line({area_.left + static_cast<double>(x), y_at(x)}, {area_.left + static_cast<double>(end), y_at(end)},
                    stroke);
      x = end + 1;
    }
  }
}

std::vector<std::vector<double>> Plot::UpperEdges() const {
  const uint32_t columns = grid_.column_count();
  std::vector<uint64_t> sum(columns, 0);
  std::vector<std::vector<double>> edges;
  for (uint32_t group = 0; group < grouping_->rows.group_count; ++group) {
    std::vector<double>& edge = edges.emplace_back();
    for (uint32_t column = 0; column < columns; ++column) {
      sum[column] += tile_.band_bytes[group * columns + column];
      edge.push_back(Y(std::max(base_bytes_, static_cast<double>(sum[column]))));
    }
  }
  return edges;
}

// Each area reaches down to the bottom and the lower ones are drawn over it, so that no seams show.
void Plot::DrawBands(Canvas& canvas, const Theme& theme) const {
  const std::vector<std::vector<double>> edges = UpperEdges();
  const std::vector<BandStyle> styles = StylesOf(bands_, *grouping_, theme);
  for (size_t group = edges.size(); group-- > 0;) {
    const bool is_empty =
        group == 0 ? std::all_of(edges[0].begin(), edges[0].end(), [&](double y) { return y >= area_.bottom(); })
                   : edges[group] == edges[group - 1];
    if (is_empty) continue;
    std::vector<Point> points = {{area_.left, area_.bottom()}};
    for (uint32_t column = 0; column < edges[group].size(); ++column) {
      if (points.back().y != edges[group][column]) points.push_back({ColumnX(column), edges[group][column]});
      points.push_back({ColumnX(column + 1), edges[group][column]});
    }
    points.push_back({area_.right(), area_.bottom()});
    const Colour fill = styles[group].fill;
    if (fill.alpha < 1) canvas.Polygon(points, theme.surface);
    canvas.Polygon(points, fill);
  }
}

void Plot::DrawBandNames(Canvas& canvas, const Theme& theme) const {
  const std::vector<std::vector<double>> edges = UpperEdges();
  const std::vector<BandStyle> styles = StylesOf(bands_, *grouping_, theme);
  const std::vector<double> bottom(grid_.column_count(), area_.bottom());
  for (uint32_t group = 0; group < edges.size(); ++group)
    DrawBandName(canvas, styles[group], group, group == 0 ? bottom : edges[group - 1], edges[group]);
}

// Where the band is thick enough for its name over the whole width of the text, with its most bytes there.
void Plot::DrawBandName(Canvas& canvas, const BandStyle& style, uint32_t group, const std::vector<double>& lower,
                        const std::vector<double>& upper) const {
  const std::string& name = style.name;
  const double longest = TextWidth(name + "  000 GiB", kNameSize, FontWeight::kBold) + 2 * kNamePadding;
  const double column_width = area_.width / grid_.column_count();
  const auto columns = static_cast<uint32_t>(std::ceil(longest / column_width));
  double best_thickness = kNameHeight;
  double best_distance = 0;  // from the middle of the plot
  uint32_t best = kNone;
  for (uint32_t first = 0; first + columns <= upper.size(); first += std::max(1U, columns / 16)) {
    const double high = *std::max_element(upper.begin() + first, upper.begin() + first + columns);
    const double low = *std::min_element(lower.begin() + first, lower.begin() + first + columns);
    const double distance = std::fabs(first + columns / 2.0 - upper.size() / 2.0);
    const bool is_thicker = low - high > best_thickness + 0.5;
    const bool is_nearer = best != kNone && low - high > best_thickness - 0.5 && distance < best_distance;
    if (!is_thicker && !is_nearer) continue;
    best_thickness = low - high;
    best_distance = distance;
    best = first;
  }
  if (best == kNone) return;
  const double y = *std::max_element(upper.begin() + best, upper.begin() + best + columns) + best_thickness / 2 + 4.5;
  const std::span<const uint64_t> band =
      std::span<const uint64_t>(tile_.band_bytes).subspan(size_t{group} * grid_.column_count(), grid_.column_count());
  const std::string bytes = FormatBytes(MostOfHill(band, best, best + columns));
  const double width =
      TextWidth(name + "  ", kNameSize, FontWeight::kBold) + TextWidth(bytes, kNameSize, FontWeight::kRegular);
  const double left = (ColumnX(best) + ColumnX(best + columns) - width) / 2;
  const Colour colour = style.text;
  canvas.Text({left, y}, name, {kNameSize, colour, FontWeight::kBold, TextAnchor::kStart});
  canvas.Text({left + width, y}, bytes, {kNameSize, colour, FontWeight::kRegular, TextAnchor::kEnd});
}

// Below the line with the bytes there: at its right end, else right of its last rise to the top, else where it is level
// for longest, else as far right as there is room.
void Plot::NameReserved(Canvas& canvas, const Theme& theme, std::span<const double> leaders) const {
  constexpr double kRoom = 22;  // for one row of text
  const uint32_t last = grid_.column_count() - 1;
  uint32_t rise = 0;
  uint64_t highest = 0;
  for (uint32_t column = 0; column <= last; ++column) {
    const uint64_t bytes = Highest(heap_->heap_index.Reserved(), column);
    if (bytes > highest) rise = column;
    highest = std::max(highest, bytes);
  }
  const auto name = [&](uint32_t column) {
    const uint64_t bytes = Highest(heap_->heap_index.Reserved(), column);
    const std::string text = fmt::format("reserved {}", FormatBytes(bytes));
    const double width = TextWidth(text, 12, FontWeight::kBold);
    const double y = Y(static_cast<double>(bytes));
    const double left = std::min(ColumnX(column) + 10, area_.right() - width - 8);
    const double ceiling = CeilingBetween(left, left + width);
    const bool crosses =
        std::any_of(leaders.begin(), leaders.end(), [&](double x) { return x > left - 4 && x < left + width + 4; });
    if (crosses || ceiling < y + kRoom || !IsReservedFlat(bytes, left, left + width)) return false;
    canvas.Text({left, y + 16}, text, {12, theme.ink2, FontWeight::kBold, TextAnchor::kStart});
    if (ceiling > y + kRoom + 16)
      canvas.Text({left, y + 31}, "hatched: idle", {12, theme.ink2, FontWeight::kRegular, TextAnchor::kStart});
    return true;
  };
  if (name(last) || name(rise) || name(LongestLevelOfReserved())) return;
  constexpr uint32_t kStride = 8;
  for (uint32_t column = last; column >= kStride; column -= kStride) {
    if (name(column)) return;
  }
}

uint32_t Plot::LongestLevelOfReserved() const {
  uint32_t best = 0;
  uint32_t best_count = 0;
  uint32_t begin = 0;
  for (uint32_t column = 1; column <= grid_.column_count(); ++column) {
    const bool is_level = column < grid_.column_count() &&
                          Highest(heap_->heap_index.Reserved(), column) == Highest(heap_->heap_index.Reserved(), begin);
    if (is_level) continue;
    if (column - begin > best_count) {
      best = begin;
      best_count = column - begin;
    }
    begin = column;
  }
  return best;
}

bool Plot::IsReservedFlat(uint64_t bytes, double left, double right) const {
  for (uint32_t column = 0; column < grid_.column_count(); ++column) {
    const bool is_inside = ColumnX(column) >= left && ColumnX(column) <= right;
    if (is_inside && Highest(heap_->heap_index.Reserved(), column) != bytes) return false;
  }
  return true;
}

void Plot::DrawLines(Canvas& canvas, const Theme& theme, std::span<const double> leaders) const {
  if (HasReserved() && base_bytes_ == 0) {
    const std::vector<Point> reserved = StepsOf(heap_->heap_index.Reserved());
    canvas.Polyline(reserved, {theme.ink2, 1.25, 6, 3});
    NameReserved(canvas, theme, leaders);
  }
  canvas.Polyline(StepsOf(heap_->heap_index.Live()), {theme.ink.Faded(0.6), 0.7});
}

}  // namespace memstrata
