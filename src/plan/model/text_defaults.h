#pragma once
// The language model of a vision-language configuration often names only what differs from its class's defaults.

#include <string_view>

namespace memstrata::plan {

/// Sizes that the configuration class of transformers 4.57 gives `model_type`, as a JSON object; "{}" for the others.
std::string_view TextDefaults(std::string_view model_type);

}  // namespace memstrata::plan
