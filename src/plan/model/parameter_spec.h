#pragma once
// The tensors of a model, by name, shape and role, in the order in which the model registers them.

#include <cstdint>
#include <string>
#include <vector>

namespace memstrata::plan {

/// What a parameter is for; decides how parallelism splits it and which adapters apply.
enum class Role : uint8_t {
  kEmbedding,         // looked up by token; split by vocabulary
  kPosition,          // other tables and learned positions: replicated
  kNorm,              // replicated
  kColumn,            // a linear layer split by its outputs (QKV, up)
  kRow,               // a linear layer split by its inputs (attention output, down)
  kReplicatedLinear,  // a linear layer that no rank splits (latent projections, routers' gates, poolers)
  kColumnBias,
  kRowBias,
  kHead,    // the output projection
  kRouter,  // replicated
  kExpert,  // one matrix of each routed expert, split by expert
  kState,   // state-space parameters, split with the inner width
  kConvolution,
};

struct ParameterSpec {
  std::string name;
  std::vector<int64_t> shape;
  Role role = Role::kColumn;
  int32_t layer = -1;            // -1: before the first layer; the number of layers: after the last
  bool keeps_precision = false;  // a quantised checkpoint leaves it as it is
};

/// LLaMA-Adapter's learned tokens (Zhang et al., arXiv 2303.16199; LitGPT's defaults): of each layer from this one on.
inline constexpr int64_t kAdapterPromptTokens = 10;
inline constexpr int32_t kFirstAdapterPromptLayer = 2;

/// True for matrices of linear layers: what adapters stand beside and quantised formats pack. Not tables, heads or
/// experts.
bool IsLinearMatrix(const ParameterSpec& parameter);
/// True for the matrices of all routed experts of a layer in one tensor; not for their biases.
bool IsExpertMatrix(const ParameterSpec& parameter);
int64_t CountElements(const ParameterSpec& parameter);
int64_t CountElements(const std::vector<ParameterSpec>& parameters);

/// A constant that the model keeps on the device and does not train.
struct BufferSpec {
  std::string name;
  std::vector<int64_t> shape;
  uint32_t element_bytes = 4;  // 0: the size of an element of the parameters
};

}  // namespace memstrata::plan
