#pragma once
// The targets of `convert` that speak XProf's JSON.

#include "cli/subcommand.h"
#include "model/store/store.h"

namespace memstrata::cli {

inline constexpr std::string_view kToXProfProfile = "xprof-memory-profile";
inline constexpr std::string_view kToXProfViewer = "xprof-memory-viewer";

/// Writes the target named by --to, one of those above.
Status WriteXProfTarget(const Arguments& arguments, const Store& store, ByteSink& sink);

}  // namespace memstrata::cli
