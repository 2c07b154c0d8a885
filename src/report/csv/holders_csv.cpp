#include "report/csv/holders_csv.h"

#include <fmt/format.h>

#include "analysis/frames/useful_frame.h"
#include "query/summary.h"
#include "report/csv/csv_text.h"

namespace memstrata {
namespace {

constexpr size_t kMostRows = 10'000;  // per heap; the rest is one row

void AppendPlace(const Store& store, const Holder& holder, std::string& out) {
  if (holder.stack.value == 0) {
    out += holder.is_other ? "(everything else)" : holder.is_preexisting ? "(before recording began)" : "(no stack)";
    out += ",,";
    return;
  }
  const FrameId frame = UsefulFrame(store, holder.stack);
  const FrameTable& table = store.stacks.frames();
  AppendCsvText(ShortFunctionName(store.String(table.function[frame.value])), out);
  out += ',';
  AppendCsvText(store.String(table.file[frame.value]), out);
  out += ',';
  if (table.line[frame.value] > 0) out += std::to_string(table.line[frame.value]);
}

// Rows of an XPlane profile: operations instead of functions.
void AppendProfileHolders(const HeapSummary& heap, std::string& out) {
  for (const ProfileHolder& holder : heap.profile->holders) {
    AppendCsvText(heap.heap->id, out);
    out += fmt::format(",{},{:.6f},{},{},", holder.bytes, heap.ShareOf(holder.bytes), holder.block_count,
                       holder.is_other ? "" : holder.category);
    AppendCsvText(holder.is_other        ? "(everything else)"
                  : !holder.name.empty() ? "(" + holder.name + ")"
                                         : holder.op.value_or("(no operation recorded)"),
                  out);
    out += ",,\n";
  }
}

}  // namespace

Status WriteHoldersCsv(const Store& store, ByteSink& sink) {
  SummaryOptions options;
  options.top_count = kMostRows;
  MEMSTRATA_ASSIGN_OR_RETURN(const SummaryAnswer answer, Summarize(store, options));
  std::string out = "heap,bytes,share,blocks,category,function,file,line\n";
  for (const HeapSummary& heap : answer.heaps) {
    if (heap.profile) AppendProfileHolders(heap, out);
    for (const Holder& holder : heap.holders) {
      AppendCsvText(heap.heap->id, out);
      const double share = heap.ShareOf(static_cast<int64_t>(holder.bytes));
      out += fmt::format(",{},{:.6f},{},{},", holder.bytes, share, holder.block_count,
                         holder.is_other ? "" : kCategoryNames[static_cast<size_t>(holder.category)]);
      AppendPlace(store, holder, out);
      out += '\n';
    }
  }
  return sink.Write(out);
}

}  // namespace memstrata
