#pragma once
// The part "fragmentation" of `memstrata explain --json`.

#include <optional>

#include "analysis/fragmentation/explain_fragmentation.h"
#include "base/json_writer.h"

namespace memstrata {

/// Key and value; null where there is no answer.
void WriteFragmentation(JsonWriter& json, const Store& store, const std::optional<FragmentationAnswer>& answer);

}  // namespace memstrata
