#pragma once
// How a checkpoint keeps its weights, by the `quantization_config` of its configuration.

#include <optional>
#include <string>
#include <vector>

#include "plan/model/config_json.h"
#include "plan/workload.h"

namespace memstrata::plan {

/// Nothing when the configuration names none, or one that is not known. `notes` gets a sentence where it is not known,
/// and where its groups have another size than the one that is planned.
std::optional<WeightFormat> ReadStoredFormat(const ConfigJson& config, std::vector<std::string>& notes);

}  // namespace memstrata::plan
