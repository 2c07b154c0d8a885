#include <algorithm>
#include <cmath>

#include "plan/eager/ops.h"

namespace memstrata::plan::eager {
namespace {

constexpr int64_t kFlashRowStep = 128;     // the flash backward rounds the queries up to this
constexpr int64_t kFlashHeadStep = 32;     // and the head size to this
constexpr int64_t kEfficientRowStep = 32;  // the memory-efficient log-sum-exp rows
constexpr int64_t kEfficientMaskStep = 8;  // columns of its mask
constexpr int64_t kLargestFlashHead = 256;

int64_t RoundUp(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

Tensor FusedResult(Tape& tape, const Tensor& query, const Tensor& value, bool is_contiguous) {
  Shape shape = query.shape;
  shape.back() = value.shape.back();
  Tensor result = tape.Empty(shape, query.dtype);
  result.is_contiguous = is_contiguous;
  return result;
}

void SaveRandomState(Tape& tape, Node* node) {
  const Tensor seed = tape.Empty({2}, DType::kInt64);
  const Tensor offset = tape.Empty({}, DType::kInt64);
  tape.Save(node, seed);
  tape.Save(node, offset);
}

Gradients FlashBackward(Tape& tape, Node& node, const Gradients&) {
  const Edge& query = node.edges[0];
  const Edge& key = node.edges[1];
  const int64_t batch = query.shape[0], heads = query.shape[1], rows = RoundUp(query.shape[2], kFlashRowStep);
  Gradients out(3);
  for (size_t i = 0; i < 3; ++i) {
    out[i] = tape.Empty(node.edges[i].shape, node.edges[i].dtype);
    out[i].is_contiguous = false;
  }
  const Tensor row_sums = tape.Empty({batch, heads, rows}, DType::kFloat32);
  const Tensor query_sum = tape.Empty({batch, rows, heads, RoundUp(query.shape[3], kFlashHeadStep)}, DType::kFloat32);
  if (heads != key.shape[1]) {  // grouped heads: one gradient a head first, then summed
    const Shape expanded{batch, key.shape[2], heads, key.shape[3]};
    const Tensor key_heads = tape.Empty(expanded, key.dtype);
    const Tensor value_heads = tape.Empty(expanded, key.dtype);
  }
  return out;
}

Tensor FlashAttention(Tape& tape, const Tensor& query, const Tensor& key, const Tensor& value) {
  const std::shared_ptr<Node> node = tape.Begin({&query, &key, &value}, {query, key, value});
  Tensor result = FusedResult(tape, query, value, query.is_contiguous);  // ordered as the queries are
  const Tensor log_sum = tape.Empty({query.shape[0], query.shape[1], query.shape[2]}, DType::kFloat32);
  tape.Save(node.get(), result);
  tape.Save(node.get(), log_sum);
  SaveRandomState(tape, node.get());
  tape.Finish(node, result, FlashBackward);
  return result;
}

Gradients EfficientBackward(Tape& tape, Node& node, const Gradients&) {
  const Edge& query = node.edges[0];
  Gradients out(node.edges.size());
  for (size_t i = 0; i < 3; ++i) {
    out[i] = tape.Empty(node.edges[i].shape, node.edges[i].dtype);
    out[i].is_contiguous = false;
  }
  const Tensor row_sums = tape.Empty({query.shape[0], query.shape[1], query.shape[2]}, DType::kFloat32);
  return out;
}

Tensor EfficientAttention(Tape& tape, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor* mask) {
  std::vector<Tensor> saved{query, key, value};
  if (mask != nullptr && mask->shape.back() % kEfficientMaskStep == 0) saved.push_back(*mask);
  if (mask != nullptr && mask->shape.back() % kEfficientMaskStep != 0) {
    Shape padded = mask->shape;
    padded.back() = RoundUp(padded.back(), kEfficientMaskStep);
    saved.push_back(tape.Empty(padded, mask->dtype));
  }
  const std::shared_ptr<Node> node = tape.Begin({&query, &key, &value}, std::move(saved));
  Tensor result = FusedResult(tape, query, value, false);  // always token by token
  const int64_t rows = node ? RoundUp(query.shape[2], kEfficientRowStep) : 0;
  const Tensor log_sum = tape.Empty({query.shape[0], query.shape[1], rows}, DType::kFloat32);
  tape.Save(node.get(), result);
  tape.Save(node.get(), log_sum);
  SaveRandomState(tape, node.get());
  tape.Finish(node, result, EfficientBackward);
  return result;
}

// softmax that gives zeros for rows without any allowed key: they are looked for and written over in place.
Tensor SafeSoftmax(Tape& tape, const Tensor& x) {
  const std::shared_ptr<Node> node = tape.Begin({&x}, {});
  Tensor result = tape.Empty(x.shape, x.dtype);
  const Tensor is_masked = tape.Empty(x.shape, DType::kBool);
  tape.Save(node.get(), result);
  tape.Finish(node, result, [](Tape& t, Node& self, const Gradients&) {
    Tensor gradient = t.Empty(self.edges[0].shape, self.edges[0].dtype);
    const Tensor product = t.Empty(self.edges[0].shape, self.edges[0].dtype);  // gradient x result
    return Gradients{std::move(gradient)};
  });
  return result;
}

Tensor RepeatHeads(Tape& tape, const Tensor& x, int64_t heads) {
  if (x.shape[1] == heads) return x;
  const Shape& s = x.shape;
  return ExpandCopy(tape, x, {s[0], s[1], heads / s[1], s[2], s[3]}, {s[0], heads, s[2], s[3]});
}

// The plain form, operation by operation.
Tensor PlainAttention(Tape& tape, const Tensor& query16, const Tensor& key16, const Tensor& value16,
                      const AttentionOptions& options) {
  const Tensor query0 = Cast(tape, query16, DType::kFloat32);  // 16 bits are too few for its sums
  const Tensor key0 = Cast(tape, key16, DType::kFloat32);
  const Tensor value0 = Cast(tape, value16, DType::kFloat32);
  const Tensor query = Scale(tape, query0);
  Tensor mask;
  if (options.is_causal) {
    const Shape square{query.shape[2], key0.shape[2]};
    const Tensor ones = tape.Empty(square, DType::kBool);
    const Tensor lower = tape.Empty(square, DType::kBool);
    mask = tape.Empty(square, query.dtype);
    const Tensor inverted = tape.Empty(square, DType::kBool);
  } else if (options.mask != nullptr) {
    mask = *options.mask;
  }
  // The kernels' leave repeats both first; without it the products stretch what they are given.
  const Tensor key = options.stretches_heads ? key0 : RepeatHeads(tape, key0, query.shape[1]);
  const Shape& k = key.shape;
  Tensor scaled_key = Scale(tape, View(key, {k[0], k[1], k[3], k[2]}));
  if (options.stretches_heads) scaled_key = RepeatHeads(tape, scaled_key, query.shape[1]);
  const Tensor value = RepeatHeads(tape, value0, query.shape[1]);
  Tensor scores = BatchMatmul(tape, query, scaled_key);
  Tensor weights = SafeSoftmax(tape, scores);
  scores = Tensor{};
  weights = Dropout(tape, weights, options.dropout);
  const Tensor result = Cast(tape, BatchMatmul(tape, weights, value), query16.dtype);
  const Tensor returned = Cast(tape, weights, query16.dtype);  // a second result, which nobody takes
  return result;
}

// A mask of truth values becomes one of numbers at every call.
Tensor FloatMask(Tape& tape, const Tensor& mask, DType dtype) {
  if (mask.dtype != DType::kBool) return tape.ToLowPrecision(mask);
  Tensor numbers = tape.Empty(mask.shape, dtype);
  const Tensor inverted = tape.Empty(mask.shape, DType::kBool);
  return numbers;
}

}  // namespace

Tensor ScaledDotProductAttention(Tape& tape, const Tensor& query0, const Tensor& key0, const Tensor& value0,
                                 const AttentionOptions& options) {
  const Tensor query = tape.ToLowPrecision(query0);
  const Tensor key = tape.ToLowPrecision(key0);
  const Tensor value = tape.ToLowPrecision(value0);
  const bool is_half = query.dtype == DType::kBfloat16 || query.dtype == DType::kFloat16;
  Tensor mask;
  if (options.mask != nullptr) mask = FloatMask(tape, *options.mask, query.dtype);
  const bool needs_plain = options.stretches_heads && query.shape[1] != key.shape[1];
  if (is_half && !mask.defined() && query.shape[3] <= kLargestFlashHead && !needs_plain)
    return FlashAttention(tape, query, key, value);
  if (query.shape[1] == key.shape[1])
    return EfficientAttention(tape, query, key, value, mask.defined() ? &mask : nullptr);
  AttentionOptions plain = options;
  plain.mask = mask.defined() ? &mask : nullptr;
  const std::optional<DType> autocast = tape.SuspendAutocast();
  const Tensor result = PlainAttention(tape, query, key, value, plain);
  tape.ResumeAutocast(autocast);
  return result;
}

}  // namespace memstrata::plan::eager
