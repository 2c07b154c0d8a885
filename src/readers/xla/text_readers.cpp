#include "readers/xla/text_readers.h"

#include <algorithm>

#include "readers/xla/memory_report_text.h"

namespace memstrata::xla {
namespace {

constexpr std::string_view kAssignmentSuffixes[] = {"-buffer-assignment.txt"};
constexpr std::string_view kReportSuffixes[] = {"-memory-usage-report.txt"};

// "module_0005.jit_step.cpu_after_optimizations" of ".../module_0005.jit_step.cpu_after_optimizations-….txt": the
// reports do not name their program.
std::string ProgramNameOf(std::string_view file, std::string_view suffix) {
  if (const size_t slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  if (const size_t at = file.find(suffix); at != std::string_view::npos && at > 0) file = file.substr(0, at);
  return std::string(file);
}

void NoteCounts(const TextCounts& counts, DiagnosticLog& log) {
  if (counts.unknown_lines > 0) {
    log.Note(Severity::kWarning, "unknown_line", "Lines of the report are not understood and left out.",
             counts.first_unknown_offset, counts.unknown_lines);
  }
  if (counts.rounded_sizes > 0) {
    log.Note(Severity::kInfo, "rounded_sizes",
             "The report gives sizes rounded for people, which nothing else in it makes exact.", kUnknownBytes,
             counts.rounded_sizes);
  }
  if (counts.left_out > 0) {
    log.Note(Severity::kInfo, "left_out_by_xla", "XLA left small values out of its report.", kUnknownBytes,
             counts.left_out);
  }
  if (counts.is_cut_off)
    log.Note(Severity::kDataLoss, "truncated", "The report ends in the middle of a line: it was cut off.");
}

void NoteMissing(const Program& program, StoreBuilder& builder) {
  builder.AddMissing("peak of the program", "XLA's text report does not say when a value is live.",
                     "Dump the program as a proto: --xla_dump_hlo_as_proto beside --xla_dump_to.");
  if (!program.has_roles) {
    builder.AddMissing("arguments, outputs and temporaries",
                       "XLA's memory-usage report does not say what an allocation is for.",
                       "Open the *-buffer-assignment.txt or *.hlo.pb file beside it.");
  }
}

template <Program (*ReadText)(std::string_view, StringPool&, TextCounts&)>
Status ReadReport(Input& input, StoreBuilder& builder, const ReadContext& context, std::string_view suffix) {
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string text, ReadAll(*input.bytes, context.limits.memory_bytes));
  TextCounts counts;
  Program program = ReadText(text, builder.store().strings, counts);
  program.name = ProgramNameOf(input.file, suffix);
  program.label = program.name;
  program.source = builder.current_source();
  NoteCounts(counts, builder.diagnostics());
  NoteMissing(program, builder);
  builder.store().sources[builder.current_source()].truncated = counts.is_cut_off;
  builder.store().programs.push_back(std::move(program));
  return {};
}

Match ProbeAssignment(const ProbeInput& input) {
  return input.head.starts_with(kBufferAssignmentHead) ? Match::kCertain : Match::kNo;
}

Match ProbeReport(const ProbeInput& input) {
  const bool starts_so = std::any_of(std::begin(kMemoryReportHeads), std::end(kMemoryReportHeads),
                                     [&](std::string_view head) { return input.head.starts_with(head); });
  return starts_so ? Match::kCertain : Match::kNo;
}

Status ReadAssignment(Input& input, StoreBuilder& builder, const ReadContext& context) {
  return ReadReport<ReadBufferAssignmentText>(input, builder, context, kAssignmentSuffixes[0]);
}

Status ReadMemoryReport(Input& input, StoreBuilder& builder, const ReadContext& context) {
  return ReadReport<ReadMemoryReportText>(input, builder, context, kReportSuffixes[0]);
}

}  // namespace

const ReaderInfo kAssignmentTextReader = {
    .id = "xla_buffer_assignment",
    .title = "XLA's text report of a buffer assignment",
    .suffixes = kAssignmentSuffixes,
    .probe = ProbeAssignment,
    .read = ReadAssignment,
};

const ReaderInfo kMemoryReportReader = {
    .id = "xla_memory_report",
    .title = "XLA's memory-usage report",
    .suffixes = kReportSuffixes,
    .probe = ProbeReport,
    .read = ReadMemoryReport,
};

}  // namespace memstrata::xla
