#pragma once
// `memstrata dryrun --json`: docs/reference/json/dryrun.schema.json.

#include <string>

#include "dryrun/answer.h"

namespace memstrata {

std::string DryRunJson(const dryrun::DryRunAnswer& answer);

}  // namespace memstrata
