#include "report/markdown/markdown_report.h"

#include <fmt/format.h>

#include "base/units.h"
#include "query/explain.h"
#include "query/summary.h"
#include "report/markdown/markdown_text.h"
#include "report/text/stack_text.h"
#include "report/text/summary_text.h"
#include "report/text/text_style.h"

namespace memstrata {
namespace {

constexpr size_t kPlaceWidth = 100;

class MarkdownReport {
 public:
  MarkdownReport(const SummaryAnswer& summary, const ExplainAnswer& explained)
      : summary_(summary), explained_(explained), store_(*summary.store) {}

  std::string Write() {
    out_ += "# Device memory\n\n";
    for (const Source& source : store_.sources)
      out_ += fmt::format("- {}: {}, {}{}\n", EscapeMarkdown(source.file), EscapeMarkdown(source.title),
                          FormatBytes(source.size_bytes), source.truncated ? ", incomplete" : "");
    for (const HeapSummary& heap : summary_.heaps) WriteHeap(heap);
    WriteNotes();
    return std::move(out_);
  }

 private:
  void WriteHeap(const HeapSummary& heap) {
    out_ += fmt::format("\n## {}\n\n", EscapeMarkdown(heap.heap->id));
    WriteFindings(heap);
    WriteFigures(heap);
    WriteHolders(heap);
    WriteIdle(heap);
  }

  void WriteFindings(const HeapSummary& heap) {
    for (const HeapExplained& explained : explained_.heaps) {
      if (explained.analysis.heap != heap.heap || explained.findings.empty()) continue;
      for (const Finding& finding : explained.findings) {
        out_ += fmt::format("- {}{}{}\n", finding.severity == FindingSeverity::kInfo ? "" : "**Attention:** ",
                            EscapeMarkdown(finding.text),
                            finding.remedy.empty() ? "" : " " + EscapeMarkdown(finding.remedy));
      }
      out_ += '\n';
    }
  }

  void Figure(std::string_view name, std::string_view value, std::string_view remark) {
    out_ += fmt::format("| {} | {} | {} |\n", name, value, EscapeMarkdown(remark));
  }

  void WriteFigures(const HeapSummary& heap) {
    const std::string_view bound = heap.is_lower_bound ? "at least " : "";
    const auto bytes = [&](uint64_t value) {
      return fmt::format("{}{} ({} B)", bound, FormatBytes(value), FormatCount(value));
    };
    out_ += "| | | |\n|---|---:|---|\n";
    Figure("Peak live", bytes(heap.live_peak.bytes), DescribeMoment(store_, heap, heap.live_peak.moment));
    if (heap.reserved_peak)
      Figure("Peak reserved", bytes(heap.reserved_peak->bytes),
             DescribeMoment(store_, heap, heap.reserved_peak->moment));
    Figure("Live at the end", FormatBytes(heap.end_live_bytes), "");
    if (heap.end_reserved_bytes) Figure("Reserved at the end", FormatBytes(*heap.end_reserved_bytes), "");
    if (heap.preexisting_block_count > 0)
      Figure("Before recording", FormatBytes(heap.preexisting_bytes),
             FormatCount(heap.preexisting_block_count, "block"));
    for (const OutOfMemoryEvent& event : heap.out_of_memory)
      Figure("Out of memory", FormatBytes(event.requested_bytes) + " asked",
             fmt::format("{} live, event {}", FormatBytes(event.live_bytes), FormatCount(event.seq)));
    if (heap.is_lower_bound) out_ += "\nLower bound: " + EscapeMarkdown(heap.lower_bound_reason) + "\n";
  }

  void WriteHolders(const HeapSummary& heap) {
    if (heap.holders.empty()) return;
    out_ += "\n### Who holds the peak\n\n| bytes | share | blocks | category | where |\n|---:|---:|---:|---|---|\n";
    for (const Holder& holder : heap.holders) {
      const double share = heap.ShareOf(holder.bytes);
      out_ += fmt::format("| {} | {} | {} | {} | {} |\n", FormatBytes(holder.bytes), FormatPercent(share),
                          FormatCount(holder.block_count),
                          holder.is_other ? "" : EscapeMarkdown(kCategoryNames[static_cast<size_t>(holder.category)]),
                          EscapeMarkdown(DescribeHolder(store_, *heap.heap, holder, kPlaceWidth)));
    }
  }

  void WriteIdle(const HeapSummary& heap) {
    if (!heap.idle || heap.idle->idle_bytes == 0) return;
    out_ += fmt::format("\n{} are reserved but idle at the end; the largest hole is {}.\n",
                        FormatBytes(heap.idle->idle_bytes), FormatBytes(heap.idle->largest_idle_bytes));
  }

  void WriteNotes() {
    if (store_.missing.empty() && store_.diagnostics.empty()) return;
    out_ += "\n## What the file cannot tell\n\n";
    for (const Missing& missing : store_.missing)
      out_ += fmt::format("- {}: {} {}\n", EscapeMarkdown(missing.what), EscapeMarkdown(missing.why),
                          EscapeMarkdown(missing.how_to_get));
    for (const Diagnostic& diagnostic : store_.diagnostics)
      out_ += fmt::format("- {} ({})\n", EscapeMarkdown(diagnostic.text), FormatCount(diagnostic.count));
  }

  const SummaryAnswer& summary_;
  const ExplainAnswer& explained_;
  const Store& store_;
  std::string out_;
};

}  // namespace

Status WriteMarkdownReport(const Store& store, ByteSink& sink) {
  MEMSTRATA_ASSIGN_OR_RETURN(const SummaryAnswer summary, Summarize(store, {}));
  MEMSTRATA_ASSIGN_OR_RETURN(const ExplainAnswer explained, Explain(store, {}));
  return sink.Write(MarkdownReport(summary, explained).Write());
}

}  // namespace memstrata
