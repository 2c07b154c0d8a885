#pragma once
// What runs at the start of every Python process of `memstrata run` and `memstrata dryrun`: a `sitecustomize` and a
// copy of the capture package (python/memstrata/start_hook.py).

#include <string>

#include "base/result.h"

namespace memstrata::dryrun {

// Not the name of the installed package, which may be another release. start_hook.py knows them.
inline constexpr const char* kRunPackage = "memstrata_run_capture";
inline constexpr const char* kDryRunPackage = "memstrata_dryrun_capture";

/// Writes both into `folder`, which exists and is then put on PYTHONPATH. error: kIo.
Status WriteStartHook(const std::string& folder, const char* package);

}  // namespace memstrata::dryrun
