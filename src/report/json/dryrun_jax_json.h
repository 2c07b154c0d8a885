#pragma once
// `memstrata dryrun --jax --json`: docs/reference/json/dryrun_jax.schema.json.

#include <string>

#include "dryrun/xla_compile.h"

namespace memstrata {

std::string DryRunJaxJson(const dryrun::JaxAnswer& answer);

}  // namespace memstrata
