#include "report/text/curve_chart.h"

#include <algorithm>

#include "base/units.h"

namespace memstrata {
namespace {

constexpr size_t kLabelWidth = 11;

// Eighths of a character that `value` fills of the row between row_begin and row_begin + 1 (in rows from below).
int Eighths(double rows, int row) { return std::clamp(static_cast<int>((rows - row) * 8 + 0.5), 0, 8); }

}  // namespace

std::string DrawCurve(const std::vector<CurveColumn>& live, const std::vector<CurveColumn>& reserved, int height,
                      const TextStyle& style) {
  static constexpr std::string_view kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  uint64_t top_bytes = 1;
  for (const CurveColumn& column : live) top_bytes = std::max(top_bytes, column.max_bytes);
  for (const CurveColumn& column : reserved) top_bytes = std::max(top_bytes, column.max_bytes);
  const double rows_per_byte = height / static_cast<double>(top_bytes);
  std::string out;
  for (int row = height - 1; row >= 0; --row) {
    const std::string label = row == height - 1 ? FormatBytes(top_bytes) : row == 0 ? "0" : "";
    out += style.Dim(PadLeft(label, kLabelWidth) + " ┤");
    std::string line;
    for (size_t i = 0; i < live.size(); ++i) {
      const int eighths = Eighths(static_cast<double>(live[i].max_bytes) * rows_per_byte, row);
      const bool reserved_here =
          i < reserved.size() &&
          std::min(static_cast<int>(static_cast<double>(reserved[i].max_bytes) * rows_per_byte), height - 1) == row;
      line += eighths == 0 && reserved_here ? std::string_view("·") : kBlocks[eighths];
    }
    out += style.Live(line) + "\n";
  }
  return out;
}

}  // namespace memstrata
