#pragma once
// The names by which transformers and PEFT call linear layers, as names of this planner's tensors.

#include <string>
#include <string_view>
#include <vector>

#include "plan/model/parameter_spec.h"

namespace memstrata::plan {

/// True for a matrix of a linear layer whose last parts are one of `targets`, as PEFT compares them; no targets mean
/// all.
bool IsAdapterTarget(const ParameterSpec& parameter, const std::vector<std::string>& targets);
/// Each of `names` as the planner's own: "c_attn" of GPT-2 is its qkv_proj, "dense" of BERT three layers. Names that
/// the family does not have stay as they are.
std::vector<std::string> AdapterTargets(std::string_view model_type, const std::vector<std::string>& names);
/// Last parts of the names of all matrices of linear layers, each once, in order.
std::vector<std::string> AdaptableNames(const std::vector<ParameterSpec>& parameters);

}  // namespace memstrata::plan
