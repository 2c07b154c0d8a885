#include "cli/common_flags.h"
#include "cli/convert_xprof.h"
#include "cli/output_file.h"
#include "cli/verbs.h"
#include "query/derived_columns.h"
#include "report/csv/table_csv.h"
#include "report/json/table_json.h"

namespace memstrata::cli {
namespace {

constexpr std::string_view kTargets[] = {"csv", "json", kToXProfProfile, kToXProfViewer};

Status Write(const Arguments& arguments, const Store& store, ByteSink& sink) {
  if (arguments.Get("--to")->starts_with("xprof-")) return WriteXProfTarget(arguments, store, sink);
  MEMSTRATA_ASSIGN_OR_RETURN(const TableInfo* table, FindTable(arguments.Get("--table").value_or("events")));
  const Heap* heap = nullptr;
  if (const auto id = arguments.Get("--heap")) {
    heap = store.FindHeap(*id);
    if (heap == nullptr)
      return Fail(ErrorCode::kInvalidArgument,
                  "There is no heap \"" + *id + "\" in this file; `memstrata summary` lists them.");
  }
  const DerivedColumns derived = Derive(store);
  const TableContext context{store, derived};
  if (arguments.Get("--to") == "json") return WriteTableJson(*table, context, heap, sink);
  return WriteTableCsv(*table, context, heap, sink);
}

Status Convert(const Arguments& arguments, Console& console) {
  MEMSTRATA_TRY(FindTable(arguments.Get("--table").value_or("events")));  // before the file is read
  if (!arguments.Has("--to"))
    return Fail(ErrorCode::kInvalidArgument, "Say what to convert to: --to csv or --to json.");
  MEMSTRATA_ASSIGN_OR_RETURN(const Store store, OpenFiles(arguments, console));
  const auto path = arguments.Get("--output");
  if (!path) return Write(arguments, store, console.out());
  MEMSTRATA_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file, OutputFile::Create(*path));
  MEMSTRATA_TRY(Write(arguments, store, *file));
  return file->Commit();
}

int RunConvert(const Arguments& arguments, Console& console) {
  const Status status = Convert(arguments, console);
  return status ? console.Finish(kExitOk) : console.ReportError(status.error(), false);
}

constexpr FlagSpec kFlags[] = {
    {"--to", "", "FORMAT", "csv or json (one table), or XProf's Memory Profile or Memory Viewer JSON", kTargets},
    {"--table", "", "NAME",
     "events (default), allocations, segments, final_segments, blocks, spans, stacks, frames, heaps, sources, "
     "diagnostics; of XPlane profiles also profile_events and program_runs"},
    {"--output", "-o", "PATH", "Write to this file instead of standard output"},
    {"--xprof-compat", "", "",
     "With --to xprof-memory-profile: what XProf itself prints, with its mistakes, to compare numbers"},
    {"--module", "", "NAME",
     "With --to xprof-memory-viewer: the program, for example \"jit_f(15)\"; may be left out for a file with one"},
    {"--memory-space", "", "N",
     "With --to xprof-memory-viewer: the memory space (0 device memory, the default; 1 on-chip …)"},
    kHeapFlag,
    kFormatFlag,
    kQuietFlag,
};
constexpr std::string_view kExamples[] = {
    "memstrata convert snapshot.pickle --to csv --table allocations -o allocations.csv",
    "memstrata convert snapshot.pickle --to json --table segments --heap cuda:0",
    "memstrata convert host0.xplane.pb --to xprof-memory-profile --xprof-compat -o xprof.json",
};

}  // namespace

const Subcommand kConvert = {
    .name = "convert",
    .summary = "Any table of a capture as CSV or JSON",
    .description =
        "Writes one table of what was read: one line a row, the unit in the name of each column, an empty cell where a "
        "value\n"
        "is not known.",
    .positional = kFilesPositional,
    .flags = kFlags,
    .examples = kExamples,
    .run = RunConvert,
};

}  // namespace memstrata::cli
