#pragma once
// What an acceptance ran on, and with which inputs.

#include "accept/acceptance.h"

namespace memstrata::accept {

/// cost: reads every input file
Identity IdentityOf(const Spec& spec);
/// Adds frameworks, devices and inherited variables that the repeats met.
void AddMeasured(const Spec& spec, const std::vector<RepeatFigures>& repeats, Identity& identity);

}  // namespace memstrata::accept
