// Attention of families for which transformers 4.57 has no fused kernel, written as their Python writes it.

#include <utility>

#include "plan/eager/layers.h"

namespace memstrata::plan::eager {
namespace {

Tensor Scores(Tape& tape, const Tensor& query, const Tensor& key) {
  const Shape& k = key.shape;
  return BatchMatmul(tape, query, View(key, {k[0], k[1], k[3], k[2]}));
}

Tensor WeighValues(Tape& tape, Tensor weights, const Tensor& value, const AttentionCall& call) {
  weights = Dropout(tape, weights, call.dropout);
  if (call.returned != nullptr) *call.returned = weights;
  return TokenByToken(tape, BatchMatmul(tape, weights, value));
}

// Queries, keys and values are copied head by head; the product starts from the distances of the tokens.
Tensor AlibiAttention(Tape& tape, const Tensor& query0, const Tensor& key0, const Tensor& value0,
                      const AttentionCall& call) {
  const Tensor query = Contiguous(tape, query0);
  const Tensor key = Contiguous(tape, key0);
  const Tensor value = Contiguous(tape, value0);
  const Tensor scores = Scores(tape, query, key);
  const Tensor masked = Add(tape, scores, call.mask);
  Tensor weights = Cast(tape, Softmax(tape, masked, DType::kFloat32), query.dtype);
  return WeighValues(tape, std::move(weights), value, call);
}

Tensor BiasedAttention(Tape& tape, const Tensor& query, const Tensor& key, const Tensor& value,
                       const AttentionCall& call) {
  Tensor weights = Scale(tape, Scores(tape, query, key));
  weights = Add(tape, weights, call.distances);
  weights = MaskedFill(tape, weights, call.mask);
  const Tensor scores = std::move(weights);  // under its name until the end
  weights = Cast(tape, Softmax(tape, scores, DType::kFloat32), value.dtype);
  return WeighValues(tape, std::move(weights), value, call);
}

Tensor Float32Attention(Tape& tape, const Tensor& query0, const Tensor& key0, const Tensor& value,
                        const AttentionCall& call) {
  const Tensor query = Cast(tape, query0, DType::kFloat32);
  const Tensor key = Cast(tape, key0, DType::kFloat32);
  Tensor weights = Scores(tape, query, key);
  weights = MaskedFill(tape, weights, tape.Empty({1, 1, query.shape[2], key.shape[2]}, DType::kBool));
  weights = Add(tape, weights, call.mask);
  weights = Softmax(tape, weights, tape.autocast() ? DType::kFloat32 : weights.dtype);
  weights = Cast(tape, weights, value.dtype);
  return WeighValues(tape, std::move(weights), value, call);
}

// The mask is added behind the division, or in place before it.
Tensor DividedAttention(Tape& tape, const Tensor& query0, const Tensor& key0, const Tensor& value,
                        const AttentionCall& call) {
  const Tensor query = Cast(tape, query0, DType::kFloat32);
  const Tensor key = Cast(tape, key0, DType::kFloat32);
  Tensor weights = Scores(tape, query, key);
  if (call.form == AttentionForm::kMasked) weights = AddInPlace(tape, weights, call.mask);
  weights = Scale(tape, weights);
  if (call.form == AttentionForm::kScaled) weights = Add(tape, weights, call.mask);
  weights = Softmax(tape, weights, tape.autocast() ? DType::kFloat32 : weights.dtype);
  weights = Cast(tape, weights, value.dtype);
  return WeighValues(tape, std::move(weights), value, call);
}

Tensor OlderAttention(Tape& tape, const Tensor& query, const Tensor& key, const Tensor& value,
                      const AttentionCall& call) {
  Tensor scores = Scale(tape, Scores(tape, query, key));  // under its name until the end
  if (call.mask.defined()) scores = Add(tape, scores, call.mask);
  Tensor weights = Softmax(tape, scores, tape.autocast() ? DType::kFloat32 : scores.dtype);
  return WeighValues(tape, std::move(weights), value, call);
}

}  // namespace

Tensor AttendInPieces(Tape& tape, const Tensor& query, const Tensor& key, const Tensor& value,
                      const AttentionCall& call) {
  if (call.form == AttentionForm::kAlibi) return AlibiAttention(tape, query, key, value, call);
  if (call.form == AttentionForm::kAddedBias) return BiasedAttention(tape, query, key, value, call);
  if (call.form == AttentionForm::kOlder) return OlderAttention(tape, query, key, value, call);
  if (call.form == AttentionForm::kScaled || call.form == AttentionForm::kMasked)
    return DividedAttention(tape, query, key, value, call);
  return Float32Attention(tape, query, key, value, call);
}

}  // namespace memstrata::plan::eager
