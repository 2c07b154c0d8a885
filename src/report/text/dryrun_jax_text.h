#pragma once
// What stands above the summary of a plan that `memstrata dryrun --jax` made: for what it was compiled, and whether it
// fits.

#include <string>

#include "dryrun/xla_compile.h"
#include "report/text/text_style.h"

namespace memstrata {

std::string DryRunJaxText(const dryrun::JaxAnswer& answer, const TextStyle& style);

}  // namespace memstrata
