#include "plan/eager/siglip_parts.h"

namespace memstrata::plan::eager {
namespace {

// A product with `count` of the three parts of the joined weight.
Tensor ProjectWithParts(Tape& tape, const Tensor& x, Parameter& weight, Parameter& bias, int64_t count) {
  const int64_t width = weight.value.shape[1];
  Parameter part, part_bias;  // views that autocast casts anew
  part.value = Slice(tape, weight.value, 0, count * width);
  part_bias.value = Slice(tape, bias.value, 0, count * width);
  part.value.parameter = part_bias.value.parameter = nullptr;
  part.value.is_contiguous = part_bias.value.is_contiguous = true;
  return Linear(tape, x, part, &part_bias);
}

}  // namespace

Tensor PoolByAttention(Tape& tape, ParameterSet& parameters, const EncoderStack& stack, const Tensor& patches) {
  const int64_t batch = patches.shape[0], tokens = patches.shape[1], hidden = stack.hidden;
  const int64_t head_dim = hidden / stack.heads, rows = batch * stack.heads;
  Parameter& weight = parameters.Get("image.pooling.qkv_proj.weight");
  Parameter& bias = parameters.Get("image.pooling.qkv_proj.bias");
  const Tensor probe =
      ExpandCopy(tape, parameters.Get("image.pooling.query").value, {batch, 1, hidden}, {1, batch, hidden});
  const Tensor query = View(ProjectWithParts(tape, probe, weight, bias, 1), {rows, 1, head_dim});
  Tensor joined = ProjectWithParts(tape, Transposed(patches, {tokens, batch, hidden}), weight, bias, 2);
  joined.is_contiguous = false;  // keys and values lie side by side and are copied apart
  const Tensor apart = Contiguous(tape, joined);
  const Tensor key = View(Slice(tape, View(apart, {2, rows, head_dim, tokens}), 0, 1), {rows, head_dim, tokens});
  const Tensor value = View(Slice(tape, View(apart, {2, rows, tokens, head_dim}), 0, 1), {rows, tokens, head_dim});
  const Tensor scores = BatchMatmul(tape, Scale(tape, query), key);
  const Tensor weights = Softmax(tape, scores, tape.autocast() ? DType::kFloat32 : scores.dtype);
  Tensor attended = View(BatchMatmul(tape, weights, value), {batch, hidden});
  attended = LinearLayer::Find(parameters, "image.pooling.o_proj")(tape, attended);
  Tensor x = NormLayer::Find(parameters, "image.pooling.norm", NormKind::kLayer)(tape, attended);
  x = Activate(tape, LinearLayer::Find(parameters, "image.pooling.up_proj")(tape, x), stack.activation);
  return Add(tape, attended, LinearLayer::Find(parameters, "image.pooling.down_proj")(tape, x));
}

}  // namespace memstrata::plan::eager
