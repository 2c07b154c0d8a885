#include "report/svg/timeline_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_writer.h"
#include "base/units.h"
#include "index/stack_layout.h"

namespace memstrata {
namespace {

constexpr double kWidth = 1200;
constexpr double kHeight = 640;
constexpr double kLeft = 90;
constexpr double kRight = 30;
constexpr double kTop = 84;
constexpr double kBottom = 110;
constexpr uint32_t kMostColumns = 1080;  // one per pixel of the plot
constexpr double kPlotWidth = kWidth - kLeft - kRight;
constexpr double kPlotHeight = kHeight - kTop - kBottom;

// The colours of the page (ui/src/base/palette.ts), which are tested for colour-blind readers there.
struct CategoryColour {
  std::string_view category;
  std::string_view fill;
};
constexpr CategoryColour kColours[] = {
    {"parameter", "#314593"},     {"optimizer_state", "#A2ABF4"}, {"kv_cache", "#499491"}, {"workspace", "#5B4F24"},
    {"communication", "#989C72"}, {"input", "#7DB4C1"},           {"gradient", "#477862"}, {"activation", "#E8C367"},
    {"temporary", "#CF7235"},     {"logits", "#783560"},
};
constexpr std::string_view kOtherFill = "#CECED0";

std::string_view FillOf(std::string_view category) {
  for (const CategoryColour& colour : kColours) {
    if (colour.category == category) return colour.fill;
  }
  return kOtherFill;
}

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : ReplaceInvalidUtf8(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;  // XML allows no control characters
    }
  }
  return escaped;
}

class Picture {
 public:
  Picture(SessionIndex& session, HeapEntry& heap, ColumnGrid grid)
      : session_(session),
        heap_(heap),
        grid_(std::move(grid)),
        grouping_(session.GroupingOf(heap, GroupBy::kCategory)) {
    tile_ = StackLayout(session.store(), heap.heap, grid_, grouping_.rows).Lay({.min_bytes = 1ULL << 62});
    top_bytes_ = static_cast<double>(std::max<uint64_t>(1, heap.heap_index.LivePeak().bytes));
    if (has_reserved())
      top_bytes_ = std::max(top_bytes_, static_cast<double>(FindPeak(heap.heap_index.Reserved().curve).bytes));
    top_bytes_ *= 1.04;
  }

  std::string Draw() {
    Title();
    Axes();
    Bands();
    Curves();
    Marks();
    Legend();
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"system-ui, 'Liberation Sans', Arial, sans-serif\" "
        "font-size=\"13\" fill=\"#171C22\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#FFFFFF\"/>\n{2}</svg>\n",
        kWidth, kHeight, body_);
  }

 private:
  bool has_reserved() const { return heap_.heap.capabilities.has_segments; }
  double X(double seq) const { return kLeft + seq / heap_.heap_index.range_end() * kPlotWidth; }
  double Y(double bytes) const { return kTop + kPlotHeight - bytes / top_bytes_ * kPlotHeight; }
  double ColumnX(uint32_t column) const { return X(grid_.begin_seq[column]); }
  void Add(std::string element) { body_ += element + "\n"; }
  void Text(double x, double y, std::string_view text, std::string_view attributes = "") {
    Add(fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>", x, y, attributes, Escaped(text)));
  }

  void Title() {
    const Peak& peak = heap_.heap_index.LivePeak();
    const bool lower_bound = heap_.heap.lower_bound != LowerBoundReason::kExact;
    const std::string_view file = ShortPath(session_.store().sources[heap_.heap.source].file, 1);
    Text(kLeft, 34, fmt::format("{}{} at the peak", lower_bound ? "At least " : "", FormatBytes(peak.bytes)),
         "font-size=\"20\" font-weight=\"600\"");
    Text(kLeft, 58,
         fmt::format("{} · {} · {} events, {} allocations", file, heap_.heap.id, FormatCount(heap_.heap.events.size()),
                     FormatCount(heap_.heap.allocations.size())),
         "fill=\"#5E6974\"");
  }

  void Axes() {
    const double step = std::exp2(std::max(0.0, std::ceil(std::log2(top_bytes_ / 8))));
    for (double bytes = 0; bytes <= top_bytes_; bytes += step) {
      Add(fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#DFE3E8\"/>", kLeft,
                      kWidth - kRight, Y(bytes), Y(bytes)));
      Text(kLeft - 10, Y(bytes) + 4, bytes == 0 ? "0" : FormatBytes(static_cast<uint64_t>(bytes)),
           "text-anchor=\"end\" fill=\"#5E6974\"");
    }
    const double span = heap_.heap_index.range_end();
    const double power = std::pow(10, std::floor(std::log10(std::max(1.0, span / 6))));
    const double ratio = span / 6 / power;
    const double event_step = std::max(1.0, (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10) * power);
    for (double seq = 0; seq < span; seq += event_step) {
      Text(X(seq), kTop + kPlotHeight + 20, FormatCount(static_cast<uint64_t>(seq)),
           "text-anchor=\"middle\" fill=\"#5E6974\"");
    }
    Text(kWidth - kRight, kTop + kPlotHeight + 40, "allocator events", "text-anchor=\"end\" fill=\"#5E6974\"");
  }

  // Upper edge as steps from left to right, then along the bottom: each area reaches down, so that no seams show.
  void Bands() {
    const uint32_t columns = grid_.column_count();
    std::vector<uint64_t> upper_bytes(columns, 0);
    std::vector<std::string> areas;
    for (uint32_t group = 0; group < grouping_.rows.group_count; ++group) {
      std::string path = fmt::format("M{:.1f} {:.1f}", kLeft, Y(0));
      for (uint32_t column = 0; column < columns; ++column) {
        upper_bytes[column] += tile_.band_bytes[group * columns + column];
        path += fmt::format("V{:.1f}H{:.1f}", Y(static_cast<double>(upper_bytes[column])), ColumnX(column + 1));
      }
      areas.push_back(fmt::format("<path d=\"{}V{:.1f}Z\" fill=\"{}\"><title>{}</title></path>", path, Y(0),
                                  FillOf(grouping_.groups[group].key), Escaped(grouping_.groups[group].label)));
    }
    for (size_t i = areas.size(); i > 0; --i) Add(areas[i - 1]);
  }

  void Line(const IndexedCurve& curve, std::string_view attributes) {
    std::string path;
    for (uint32_t column = 0; column < grid_.column_count(); ++column) {
      const uint32_t begin = grid_.begin_seq[column];
      const uint32_t end = grid_.begin_seq[column + 1];
      const uint64_t bytes =
          heap_.heap.events.size() == 0 ? curve.curve.begin_bytes : curve.extremes.Find(begin, end).max;
      path += fmt::format("{}{:.1f} {:.1f}H{:.1f}", column == 0 ? "M" : "L", ColumnX(column),
                          Y(static_cast<double>(bytes)), ColumnX(column + 1));
    }
    Add(fmt::format("<path d=\"{}\" fill=\"none\" {}/>", path, attributes));
  }
  void Curves() {
    Line(heap_.heap_index.Live(), "stroke=\"#171C22\" stroke-width=\"1\"");
    if (has_reserved())
      Line(heap_.heap_index.Reserved(), "stroke=\"#424C57\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"");
  }

  void Marks() {
    const Peak& peak = heap_.heap_index.LivePeak();
    const double x = X(peak.moment.seq() == kNone ? 0 : peak.moment.seq());
    const double y = Y(static_cast<double>(peak.bytes));
    const bool on_the_right = x > kWidth / 2;
    Add(fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"#FFFFFF\" stroke=\"#171C22\" stroke-width=\"1.5\"/>", x,
        y));
    Text(x + (on_the_right ? -8 : 8), y - 8, fmt::format("peak {}", FormatBytes(peak.bytes)),
         on_the_right ? "text-anchor=\"end\" font-weight=\"600\"" : "font-weight=\"600\"");
    for (const uint32_t seq : heap_.heap_index.OutOfMemory()) {
      Add(
          fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"#B81428\" "
                      "stroke-width=\"1.5\"><title>out of memory at event {3}</title></line>",
                      X(seq), kTop, kTop + kPlotHeight, seq));
    }
  }

  void Legend() {
    double x = kLeft;
    double y = kHeight - 42;
    const auto entry = [&](std::string_view symbol, std::string_view label) {
      const double width = 40 + 7.2 * static_cast<double>(label.size());
      if (x + width > kWidth - kRight) {
        x = kLeft;
        y += 22;
      }
      Add(fmt::format("<g transform=\"translate({:.1f} {:.1f})\">{}</g>", x, y, symbol));
      Text(x + 22, y + 11, label);
      x += width;
    };
    for (const Group& group : grouping_.groups) {
      entry(fmt::format("<rect width=\"14\" height=\"14\" fill=\"{}\"/>", FillOf(group.key)),
            fmt::format("{} {}", group.label, FormatBytes(group.bytes_at_peak)));
    }
    if (has_reserved())
      entry("<path d=\"M0 7H16\" stroke=\"#424C57\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"/>", "reserved");
    if (!heap_.heap_index.OutOfMemory().empty())
      entry("<path d=\"M7 0V14\" stroke=\"#B81428\" stroke-width=\"1.5\"/>", "out of memory");
  }

  SessionIndex& session_;
  HeapEntry& heap_;
  ColumnGrid grid_;
  const Grouping& grouping_;
  StackTile tile_;
  double top_bytes_ = 1;
  std::string body_;
};

}  // namespace

Status WriteTimelineSvg(SessionIndex& session, ByteSink& sink) {
  HeapEntry* heap = session.DefaultHeap();
  if (heap == nullptr) return Fail(ErrorCode::kNotFound, "There is no heap to draw: the file holds none.");
  const uint32_t range_end = heap->heap_index.range_end();
  MEMSTRATA_ASSIGN_OR_RETURN(
      ColumnGrid grid, MakeColumnGrid(heap->heap_index, {Axis::kSeq, 0, range_end, std::min(kMostColumns, range_end)}));
  return sink.Write(Picture(session, *heap, std::move(grid)).Draw());
}

}  // namespace memstrata
