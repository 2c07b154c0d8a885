#include "report/text/diff_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/frames/useful_frame.h"
#include "base/units.h"

namespace memstrata {
namespace {

std::string NameOf(const Store& store, StackId stack) {
  if (stack.value == 0) return "no stack";
  const std::vector<FrameId> frames = FramesOf(store, stack);
  const FrameTable& table = store.stacks.frames();
  const FrameId frame = frames[UsefulFrameIndex(store, frames)];
  return fmt::format("{}  {}", ShortFunctionName(store.String(table.function[frame.value])),
                     ShortPath(store.String(table.file[frame.value])));
}

std::string Signed(int64_t size_bytes) {
  return fmt::format("{}{}", size_bytes > 0 ? "+" : "", FormatBytes(size_bytes));
}

}  // namespace

Status WriteDiffText(const DiffAnswer& answer, const TextStyle& style, size_t top_count, ByteSink& sink) {
  std::string out;
  for (const HeapDiffAnswer& heap : answer.heaps) {
    const HeapDiff& diff = heap.diff;
    const int64_t delta_bytes =
        static_cast<int64_t>(diff.after_peak_bytes) - static_cast<int64_t>(diff.before_peak_bytes);
    out += fmt::format("{}  The live peak goes from {} to {}: {}.\n\n", style.Bold(Shorten(heap.id, 40)),
                       FormatBytes(diff.before_peak_bytes), FormatBytes(diff.after_peak_bytes), Signed(delta_bytes));
    int64_t rest_bytes = delta_bytes;
    for (size_t i = 0; i < std::min(top_count, diff.rows.size()); ++i) {
      const DiffRow& row = diff.rows[i];
      if (row.DeltaBytes() == 0) break;
      rest_bytes -= row.DeltaBytes();
      const Store& store = row.is_in_after ? *answer.after : *answer.before;
      out += fmt::format("  {}  {} -> {}  {}  {}\n", PadLeft(Signed(row.DeltaBytes()), 10),
                         PadLeft(FormatBytes(row.before_bytes), 9), PadLeft(FormatBytes(row.after_bytes), 9),
                         PadRight(kCategoryNames[static_cast<size_t>(row.category)], 15),
                         Shorten(NameOf(store, row.stack), 80));
    }
    out += fmt::format("  {}  everything else\n\n", PadLeft(Signed(rest_bytes), 10));
  }
  for (const std::string& id : answer.only_before)
    out += fmt::format("{} is only in the first recording.\n", Shorten(id, 40));
  for (const std::string& id : answer.only_after)
    out += fmt::format("{} is only in the second recording.\n", Shorten(id, 40));
  return sink.Write(out);
}

}  // namespace memstrata
