#pragma once
// The stacked plot of a heap: bands by category, live and reserved curves, axes. Used for the picture and, smaller, for
// its lens.

#include <span>
#include <vector>

#include "query/session_index.h"
#include "report/picture/band_style.h"
#include "report/picture/canvas.h"
#include "report/picture/theme.h"

namespace memstrata {

struct PlotArea {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;

  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

class Plot {
 public:
  /// Shows events [begin_seq, end_seq). `top_bytes` 0 = fits what is shown. cost: O(allocations + columns)
  static Result<Plot> Make(SessionIndex& session, HeapEntry& heap, uint32_t begin_seq, uint32_t end_seq, PlotArea area,
                           bool from_zero);

  double X(double seq) const {
    return area_.left + (seq - begin_seq_) / static_cast<double>(end_seq_ - begin_seq_) * area_.width;
  }
  double Y(double bytes) const {
    return area_.bottom() - (bytes - base_bytes_) / (top_bytes_ - base_bytes_) * area_.height;
  }
  const PlotArea& area() const { return area_; }
  /// Lowest y of the live curve in a range of x: above it is room.
  double CeilingBetween(double left, double right) const;

  void DrawGrid(Canvas& canvas, const Theme& theme, bool with_events) const;
  /// What is reserved but not in use, hatched below the reserved line; the bands are drawn over its lower part.
  void DrawIdle(Canvas& canvas, const Theme& theme) const;
  void DrawBands(Canvas& canvas, const Theme& theme) const;
  void DrawBandNames(Canvas& canvas, const Theme& theme) const;
  /// `leaders` are x of lines from labels down to the curve: no name is written across them.
  void DrawLines(Canvas& canvas, const Theme& theme, std::span<const double> leaders) const;

 private:
  Plot(HeapEntry& heap, const Grouping& grouping, ColumnGrid grid, StackTile tile, PlotArea area)
      : heap_(&heap), grouping_(&grouping), grid_(std::move(grid)), tile_(std::move(tile)), area_(area) {}

  bool HasReserved() const { return heap_->heap.capabilities.has_segments; }
  double ColumnX(uint32_t column) const { return X(grid_.begin_seq[column]); }
  uint64_t Highest(const IndexedCurve& curve, uint32_t column) const;
  std::vector<Point> StepsOf(const IndexedCurve& curve) const;
  /// Sum of the bands up to and with each group, by column.
  std::vector<std::vector<double>> UpperEdges() const;
  void FitTop(bool from_zero);
  void NameReserved(Canvas& canvas, const Theme& theme, std::span<const double> leaders) const;
  /// First column of the longest stretch in which the reserved line is level.
  uint32_t LongestLevelOfReserved() const;
  bool IsReservedFlat(uint64_t bytes, double left, double right) const;
  void DrawBandName(Canvas& canvas, const BandStyle& style, uint32_t group, const std::vector<double>& lower,
                    const std::vector<double>& upper) const;

  HeapEntry* heap_;
  const Grouping* grouping_;
  GroupBy bands_ = GroupBy::kCategory;
  ColumnGrid grid_;
  StackTile tile_;
  PlotArea area_;
  uint32_t begin_seq_ = 0;
  uint32_t end_seq_ = 1;
  double base_bytes_ = 0;
  double top_bytes_ = 1;
};

}  // namespace memstrata
