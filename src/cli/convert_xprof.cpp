#include "cli/convert_xprof.h"

#include <fmt/format.h>

#include "report/xprof/memory_profile_json.h"

namespace memstrata::cli {
namespace {

// XProf's JSON describes one host.
Result<uint32_t> OnlyXPlaneSource(const Store& store) {
  if (store.xplane.sources.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "XProf's Memory Profile can be made of an XPlane profile (*.xplane.pb) only.");
  }
  if (store.xplane.sources.size() > 1) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("XProf's Memory Profile describes one host; these are {}. Name the file of one of them.",
                                                         store.xplane.sources.size()));
  }
  return store.xplane.sources.front().source;
}

}  // namespace

Status WriteXProfTarget(const Arguments& arguments, const Store& store, ByteSink& sink) {
  MEMSTRATA_ASSIGN_OR_RETURN(const uint32_t source, OnlyXPlaneSource(store));
  return WriteXProfMemoryProfile(store, source, arguments.Has("--xprof-compat"), sink);
}

}  // namespace memstrata::cli
