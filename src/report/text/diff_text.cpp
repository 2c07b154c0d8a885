#include "report/text/diff_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/text/stack_text.h"

namespace memstrata {
namespace {

std::string NameOf(const Store& store, StackId stack) {
  constexpr size_t kWidth = 80;
  return stack.value == 0 ? "no stack" : DescribeStack(store, stack, kWidth);
}

std::string Signed(int64_t size_bytes) {
  return fmt::format("{}{}", size_bytes > 0 ? "+" : "", FormatBytes(size_bytes));
}

// The first and the last of two, or all of a row that has room for them.
std::string Sizes(const std::vector<uint64_t>& sizes) {
  constexpr size_t kMost = 6;
  if (sizes.size() > kMost)
    return PadLeft(FormatBytes(sizes.front()), 9) + " ... " + PadLeft(FormatBytes(sizes.back()), 9);
  std::string text;
  for (const uint64_t size_bytes : sizes) text += (text.empty() ? "" : " -> ") + PadLeft(FormatBytes(size_bytes), 9);
  return text;
}

// "1.00 GiB to 2.00 GiB to 2.50 GiB"
std::string Row(const std::vector<uint64_t>& sizes) {
  std::string text;
  for (const uint64_t size_bytes : sizes) text += (text.empty() ? "" : " to ") + FormatBytes(size_bytes);
  return text;
}

}  // namespace

Status WriteDiffText(const DiffAnswer& answer, const TextStyle& style, size_t top_count, ByteSink& sink) {
  std::string out;
  for (const HeapDiffAnswer& heap : answer.heaps) {
    const HeapDiff& diff = heap.diff;
    out += fmt::format("{}  The live peak goes from {}: {}.\n", style.Bold(Shorten(heap.id, 40)), Row(diff.peak_bytes),
                       Signed(diff.DeltaBytes()));
    for (const Regression& sentence : heap.sentences)
      out += "  " + WrapLines(sentence.text, static_cast<size_t>(std::clamp(style.width, 60, 140)) - 4, 4) + "\n";
    out += "\n";
    int64_t rest_bytes = diff.DeltaBytes();
    for (size_t i = 0; i < std::min(top_count, diff.rows.size()); ++i) {
      const DiffRow& row = diff.rows[i];
      if (row.SpreadBytes() == 0) break;
      rest_bytes -= row.DeltaBytes();
      const Store& store = *answer.recordings[row.recording];
      out += fmt::format("  {}  {}  {}  {}\n", PadLeft(Signed(row.DeltaBytes()), 10), Sizes(row.bytes),
                         PadRight(kCategoryNames[static_cast<size_t>(row.category)], 15),
                         diff.is_by_category ? "" : NameOf(store, row.stack));
    }
    out += fmt::format("  {}  everything else\n\n", PadLeft(Signed(rest_bytes), 10));
  }
  for (const std::string& id : answer.only_before)
    out += fmt::format("{} of the first recording is not in all.\n", Shorten(id, 40));
  for (const std::string& id : answer.only_after)
    out += fmt::format("{} of the last recording is not in all.\n", Shorten(id, 40));
  return sink.Write(out);
}

}  // namespace memstrata
