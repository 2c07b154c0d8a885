#pragma once
// One repeat of a workload: fresh processes, measured, and its quality asked for afterwards.

#include <functional>
#include <string>

#include "accept/figures.h"
#include "accept/spec.h"

namespace memstrata::accept {

/// Runs the workload once, copies and what runs beside it at once, into `folder`/`name`.memstrata; what the programs
/// print goes to `folder`/`name`.log. A command's warm-up runs come first. `folder` must exist.
/// errors: kNotFound (a command cannot be started), kIo. A workload that fails is no error but a figure.
Result<RepeatFigures> RunRepeat(const Spec& spec, const std::string& folder, const std::string& name);

}  // namespace memstrata::accept
