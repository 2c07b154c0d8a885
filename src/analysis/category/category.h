#pragma once
// What a block is for. The names are the project's one vocabulary (docs/reference/json/vocabulary.md).

#include <string_view>

#include "model/store/store.h"

namespace memstrata {

enum class Category : uint8_t {
  kParameter,
  kBuffer,
  kGradient,
  kOptimizerState,
  kActivation,
  kAutocastCopy,
  kLogits,
  kTemporary,
  kInput,
  kKvCache,
  kWorkspace,
  kCommunication,
  kStack,
  kUnknown,
};
inline constexpr std::string_view kCategoryNames[] = {
    "parameter", "buffer", "gradient", "optimizer_state", "activation",    "autocast_copy", "logits",
    "temporary", "input",  "kv_cache", "workspace",       "communication", "stack",         "unknown",
};

/// "parameters", "KV cache": for sentences.
std::string_view CategoryWords(Category category);

/// "hold" after "parameters", "holds" after "optimizer state".
std::string_view HoldOrHolds(Category category);

/// What the call stack alone says; kUnknown where it does not say it (backward runs without Python frames). A block
/// that the writer of the file labelled keeps its label. cost: O(stack nodes) once; index = stack id
std::vector<Category> CategoriesByStack(const Store& store);

/// The category that a label in a file names (torch.profiler's words), kUnknown for others.
Category CategoryFromLabel(std::string_view label);

}  // namespace memstrata
