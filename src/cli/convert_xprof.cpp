#include "cli/convert_xprof.h"

#include <fmt/format.h>

#include "report/xprof/memory_profile_json.h"
#include "report/xprof/memory_viewer_json.h"

namespace memstrata::cli {
namespace {

// XProf's JSON describes one host.
Result<uint32_t> OnlyXPlaneSource(const Store& store) {
  if (store.xplane.sources.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "XProf's Memory Profile can be made of an XPlane profile (*.xplane.pb) only.");
  }
  if (store.xplane.sources.size() > 1) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("XProf's Memory Profile describes one host; these are {}. Name the file of one of them.",
                            store.xplane.sources.size()));
  }
  return store.xplane.sources.front().source;
}

Result<const Program*> WantedProgram(const Arguments& arguments, const Store& store) {
  const auto wanted = arguments.Get("--module");
  std::string known;
  for (const Program& program : store.programs) {
    if (wanted && (*wanted == program.label || *wanted == program.name)) return &program;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", program.label);
  }
  if (store.programs.empty()) return Fail(ErrorCode::kInvalidArgument, "There is no compiled program in this file.");
  if (!wanted && store.programs.size() == 1) return &store.programs.front();
  return Fail(ErrorCode::kInvalidArgument,
              wanted ? fmt::format("There is no program \"{}\"; the file holds: {}.", *wanted, known)
                     : fmt::format("The file holds several programs; name one with --module: {}.", known));
}

}  // namespace

Status WriteXProfTarget(const Arguments& arguments, const Store& store, ByteSink& sink) {
  if (arguments.Get("--to") == kToXProfViewer) {
    MEMSTRATA_ASSIGN_OR_RETURN(const std::optional<uint64_t> space, arguments.GetUnsigned("--memory-space"));
    MEMSTRATA_ASSIGN_OR_RETURN(const Program* program, WantedProgram(arguments, store));
    return WriteXProfMemoryViewer(store, *program, static_cast<int64_t>(space.value_or(0)), sink);
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const uint32_t source, OnlyXPlaneSource(store));
  return WriteXProfMemoryProfile(store, source, arguments.Has("--xprof-compat"), sink);
}

}  // namespace memstrata::cli
