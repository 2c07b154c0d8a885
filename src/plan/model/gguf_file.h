#pragma once
// GGUF headers: tensors by their own block types, and the metadata that describe the model.

#include <cstdint>
#include <string_view>

#include "plan/model/model_description.h"
#include "plan/model/stored_tensor.h"

namespace memstrata::plan {

/// Parses a header of version 2 or 3 from a file's first bytes; `file_bytes` is the whole file's size.
Result<WeightsHeader> ParseGguf(std::string_view head, uint64_t file_bytes);
/// Layers, widths, words, positions and what each layer keeps of earlier tokens; nothing when the metadata lack them.
/// kCorruptInput for sizes that no model has.
Status UseGgufMetadata(const GgufMetadata& metadata, ModelDescription& model);

}  // namespace memstrata::plan
