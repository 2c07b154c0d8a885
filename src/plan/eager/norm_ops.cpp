#include <algorithm>

#include "plan/eager/ops.h"

namespace memstrata::plan::eager {
namespace {

// The backward of a table sorts the indices above this many of them and sums runs of equal ones in pieces.
constexpr int64_t kSortedEmbeddingIndices = 3072;
constexpr int64_t kRowsPerPartialSum = 10;

Gradients EmbeddingBackward(Tape& tape, Node& node, const Gradients& gradients) {
  const Edge& table = node.edges[0];
  const int64_t width = table.shape[1];
  const int64_t count = ElementCount(gradients[0].shape) / width;
  Tensor result = tape.Empty(table.shape, gradients[0].dtype);
  if (count > kSortedEmbeddingIndices) {
    const Tensor sorted = tape.Empty({count}, DType::kInt64);
    const Tensor original = tape.Empty({count}, DType::kInt64);
    const int64_t segments = std::min(count, table.shape[0]);
    const Tensor partial = tape.Empty({count / kRowsPerPartialSum + segments, width}, DType::kFloat32);
  }
  return Gradients{std::move(result)};
}

}  // namespace

Tensor Embedding(Tape& tape, Parameter& weight, const Tensor& indices) {
  const std::shared_ptr<Node> node = tape.Begin({&weight.value}, {indices});
  Shape shape = indices.shape;
  shape.push_back(weight.value.shape[1]);
  Tensor result = tape.Empty(shape, weight.value.dtype);
  tape.Finish(node, result, EmbeddingBackward);
  return result;
}

Tensor LayerNorm(Tape& tape, const Tensor& x, Parameter& weight, Parameter* bias) {
  const bool casts = tape.autocast().has_value();
  const Tensor cast = casts ? Cast(tape, x, DType::kFloat32) : x;
  return LayerNormKernel(tape, cast, weight.value, bias != nullptr ? bias->value : Tensor{});
}

Tensor LayerNormKernel(Tape& tape, const Tensor& x0, const Tensor& weight, const Tensor& bias) {
  const Tensor x = Contiguous(tape, x0);
  std::vector<Tensor> saved{x};
  if (weight.defined()) saved.push_back(weight);
  const std::shared_ptr<Node> node = tape.Begin({&x, &weight, &bias}, saved);
  Tensor result = tape.Empty(x.shape, x.dtype);
  Shape rows = x.shape;
  rows.back() = 1;
  const Tensor mean = tape.Empty(rows, DType::kFloat32);
  const Tensor reciprocal_deviation = tape.Empty(rows, DType::kFloat32);
  tape.Save(node.get(), mean);
  tape.Save(node.get(), reciprocal_deviation);
  tape.Finish(node, result, [](Tape& t, Node& self, const Gradients&) {
    Gradients out(3);
    for (size_t i = 0; i < 3; ++i) {
      if (self.Needs(i)) out[i] = t.Empty(self.edges[i].shape, self.edges[i].dtype);
    }
    return out;
  });
  return result;
}

namespace {

// A softmax or its logarithm, which is kept for the backward.
Tensor SoftmaxKernel(Tape& tape, const Tensor& x0, DType dtype, Backward backward) {
  const Tensor x = Cast(tape, x0, dtype);
  const std::shared_ptr<Node> node = tape.Begin({&x}, {});
  Tensor result = tape.Empty(x.shape, dtype);
  tape.Save(node.get(), result);
  tape.Finish(node, result, std::move(backward));
  return result;
}

}  // namespace

// Its gradient's kernel first writes out gradient x result.
Tensor Softmax(Tape& tape, const Tensor& x, DType dtype) {
  return SoftmaxKernel(tape, x, dtype, [](Tape& t, Node& self, const Gradients&) {
    Tensor gradient = t.Empty(self.edges[0].shape, self.edges[0].dtype);
    const Tensor product = t.Empty(self.edges[0].shape, self.edges[0].dtype);
    return Gradients{std::move(gradient)};
  });
}

Tensor CrossEntropy(Tape& tape, const Tensor& logits, const Tensor& labels) {
  // Autocast does not see the softmax inside the loss, only the likelihood, which it runs in float32.
  Tensor log_probabilities = SoftmaxKernel(tape, logits, logits.dtype, [](Tape& t, Node& self, const Gradients&) {
    return Gradients{t.Empty(self.edges[0].shape, self.edges[0].dtype)};
  });
  if (tape.autocast()) log_probabilities = Cast(tape, log_probabilities, DType::kFloat32);
  const std::shared_ptr<Node> node = tape.Begin({&log_probabilities}, {log_probabilities, labels});
  Tensor loss = tape.Empty({}, log_probabilities.dtype);
  const Tensor total_weight = tape.Empty({}, log_probabilities.dtype);
  tape.Save(node.get(), total_weight);
  tape.Finish(node, loss, [](Tape& t, Node& self, const Gradients&) {
    return Gradients{t.Empty(self.edges[0].shape, self.edges[0].dtype)};
  });
  return loss;
}

Tensor FusedCrossEntropy(Tape& tape, const Tensor& logits, const Tensor& labels) {
  const std::shared_ptr<Node> node = tape.Begin({&logits}, {logits, labels});
  Tensor loss = tape.Empty({}, DType::kFloat32);
  const Tensor log_sums = tape.Empty({logits.shape[0]}, DType::kFloat32);
  tape.Save(node.get(), log_sums);
  tape.Finish(node, loss, [](Tape& t, Node& self, const Gradients&) { return Gradients{t.Saved(self, 0)}; });
  return loss;
}

Tensor LinearCrossEntropy(Tape& tape, const Tensor& hidden0, Parameter& weight, const Tensor& labels) {
  const Tensor hidden = tape.ToLowPrecision(hidden0);
  const Tensor w = tape.ToLowPrecision(weight.value);
  const std::shared_ptr<Node> node = tape.Begin({&hidden, &w}, {hidden, w, labels});
  Tensor loss = tape.Empty({}, DType::kFloat32);
  const Tensor log_sums = tape.Empty({ElementCount(labels.shape)}, DType::kFloat32);
  tape.Save(node.get(), log_sums);
  tape.Finish(node, loss, [](Tape& t, Node& self, const Gradients&) {
    Gradients out(2);
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (self.Needs(i)) out[i] = t.Empty(self.edges[i].shape, self.edges[i].dtype);
    }
    return out;
  });
  return loss;
}

}  // namespace memstrata::plan::eager
