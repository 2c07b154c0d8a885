#include "report/markdown/markdown_report.h"

#include <fmt/format.h>

#include "analysis/program_memory/program_summary.h"
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
    WritePrograms();
    WriteNotes();
    return std::move(out_);
  }

 private:
  void WriteHeap(const HeapSummary& heap) {
    out_ += fmt::format("\n## {}\n\n", EscapeMarkdown(heap.heap->id));
    WriteFindings(heap);
    if (heap.profile) {
      WriteProfile(heap, *heap.profile);
      return;
    }
    WriteFigures(heap);
    WriteHolders(heap);
    WriteIdle(heap);
  }

  // An XPlane profile: stack, heap and free, operations, programs, and where XProf says something else.
  void WriteProfile(const HeapSummary& heap, const ProfileSummary& profile) {
    out_ += "| | | |\n|---|---:|---|\n";
    const auto bytes = [](uint64_t value) { return fmt::format("{} ({} B)", FormatBytes(value), FormatCount(value)); };
    Figure("Peak used", bytes(profile.used_bytes), DescribeMoment(store_, heap, Moment::AfterEvent(profile.peak_seq)));
    Figure("Stack there", bytes(profile.stack_bytes), "");
    Figure("Heap there", bytes(profile.heap_bytes), "");
    if (profile.capacity_bytes)
      Figure("Capacity", bytes(*profile.capacity_bytes),
             profile.utilization ? FormatPercent(*profile.utilization) + " used" : "");
    Figure("Fragmentation", FormatPercent(profile.fragmentation), "");
    if (profile.largest_request_bytes)
      Figure("Largest request", bytes(*profile.largest_request_bytes), "that would succeed there");
    Figure("Lifetime peak", bytes(profile.lifetime_peak_bytes), "heap alone");
    if (heap.preexisting_bytes > 0) Figure("Before recording", FormatBytes(heap.preexisting_bytes), "live already");
    out_ +=
        "\n### Who holds the peak\n\n| bytes | share | blocks | operation | region, type, shape "
        "|\n|---:|---:|---:|---|---|\n";
    for (const ProfileHolder& holder : profile.holders) {
      const std::string name = holder.is_other        ? "everything else"
                               : !holder.name.empty() ? holder.name
                                                      : holder.op.value_or("no operation recorded");
      const std::string kind = fmt::format("{} {} {}", holder.region_type.value_or(""), holder.data_type.value_or(""),
                                           holder.shape.value_or(""));
      out_ += fmt::format("| {} | {} | {} | {} | {} |\n", FormatBytes(holder.bytes),
                          FormatPercent(heap.ShareOf(holder.bytes)), FormatCount(holder.block_count),
                          EscapeMarkdown(name), EscapeMarkdown(kind));
    }
    WriteUses(profile);
    for (const std::vector<std::string>* sentences :
         {&profile.help.sentences, &profile.notes, &profile.xprof_differences}) {
      if (sentences->empty()) continue;
      out_ += '\n';
      for (const std::string& sentence : *sentences) out_ += "- " + EscapeMarkdown(sentence) + "\n";
    }
  }

  void WriteUses(const ProfileSummary& profile) {
    if (profile.programs.empty()) return;
    out_ += "\n### Programs\n\n| measured | planned | runs | program |\n|---:|---:|---:|---|\n";
    for (const ProgramUse& use : profile.programs) {
      const ProgramRun& run = use.highest;
      out_ += fmt::format("| {} | {} | {} | {} |\n", FormatBytes(run.used_bytes()),
                          run.program == kNone ? "no plan" : FormatBytes(run.plan.total_bytes()),
                          FormatCount(use.run_count), EscapeMarkdown(use.name));
    }
  }

  // Static plans.
  void WritePrograms() {
    if (store_.programs.empty()) return;
    const auto known = [](const std::optional<uint64_t>& bytes) { return bytes ? FormatBytes(*bytes) : "not known"; };
    out_ +=
        "\n## Compiled programs\n\n| program | needs | arguments | outputs | temporaries | donated |\n"
        "|---|---:|---:|---:|---:|---:|\n";
    for (const Program& program : store_.programs) {
      const ProgramSummary plan = SummarizeProgram(program);
      out_ += fmt::format("| {} | {} | {} | {} | {} | {} |\n", EscapeMarkdown(program.label),
                          FormatBytes(plan.total_bytes), known(plan.argument_bytes), known(plan.output_bytes),
                          known(plan.temp_bytes), known(plan.alias_bytes));
    }
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
      const double share = heap.ShareOf(static_cast<int64_t>(holder.bytes));
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

Status WriteMarkdownReport(SessionIndex& session, ByteSink& sink) {
  MEMSTRATA_ASSIGN_OR_RETURN(const SummaryAnswer summary, Summarize(session.analyses(), {}));
  return sink.Write(MarkdownReport(summary, session.Explained()).Write());
}

}  // namespace memstrata
