#pragma once
// `memstrata dryrun --jax MODULE:FUNCTION`.

#include "cli/subcommand.h"

namespace memstrata::cli {

/// Compiles the function, keeps XLA's plan as a file and prints it. Gives the exit status: 0 it fits or no card was
/// named, 3 it does not fit.
Result<int> DryRunJax(const Arguments& arguments, Console& console);

}  // namespace memstrata::cli
