#pragma once
// The operations that model descriptions are written with. Each allocates what PyTorch's CUDA implementation allocates,
// saves for its backward what its gradient formula in PyTorch 2.7 saves, and its backward allocates what that formula
// allocates. Facts about single kernels are stated at the operation.

#include <utility>
#include <vector>

#include "plan/eager/tape.h"

namespace memstrata::plan::eager {

// --- views: no memory ---
Tensor View(const Tensor& x, Shape shape);
/// A view whose elements lie in another order than its shape says.
Tensor Transposed(const Tensor& x, Shape shape);
/// The first `size` of dimension `dim`. Its gradient is a new tensor of the whole size.
Tensor Slice(Tape& tape, const Tensor& x, int dim, int64_t size);
/// Dimensions of size 1 stretched, without a copy.
Tensor ExpandView(Tape& tape, const Tensor& x, Shape shape);
/// Pieces along the last dimension; together their gradients make one new tensor.
std::vector<Tensor> Split(Tape& tape, const Tensor& x, const std::vector<int64_t>& sizes);

// --- copies ---
Tensor Cast(Tape& tape, const Tensor& x, DType dtype);
Tensor CastDetached(Tape& tape, const Tensor& x, DType dtype);
Tensor Clone(Tape& tape, const Tensor& x);
/// `x` itself when it is contiguous.
Tensor Contiguous(Tape& tape, const Tensor& x);
Tensor Cat(Tape& tape, const std::vector<Tensor>& parts, int dim);
/// Stretched dimensions written out.
Tensor ExpandCopy(Tape& tape, const Tensor& x, Shape expanded, Shape result);

// --- elementwise ---
Tensor Add(Tape& tape, const Tensor& a, const Tensor& b);
/// `x` with one value wherever `mask` is true; the mask is saved.
Tensor MaskedFill(Tape& tape, const Tensor& x, const Tensor& mask);
/// `a += b`: the result is `a`'s own memory.
Tensor AddInPlace(Tape& tape, const Tensor& a, const Tensor& b);
Tensor Multiply(Tape& tape, const Tensor& a, const Tensor& b);
Tensor AddScalar(Tape& tape, const Tensor& x);
Tensor Scale(Tape& tape, const Tensor& x);
Tensor Power(Tape& tape, const Tensor& x);
Tensor Rsqrt(Tape& tape, const Tensor& x);
Tensor MeanOfLast(Tape& tape, const Tensor& x);
/// The mean over one dimension, which stays with size 1.
Tensor MeanOver(Tape& tape, const Tensor& x, int dim);
/// tanh, sigmoid, relu: the result is saved.
Tensor ActivationSavingResult(Tape& tape, const Tensor& x);
/// silu, gelu: the input is saved.
Tensor ActivationSavingInput(Tape& tape, const Tensor& x);
/// 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))) written out in Python.
Tensor GeluNew(Tape& tape, const Tensor& x);
/// x·sigmoid(1.702·x) written out in Python.
Tensor QuickGelu(Tape& tape, const Tensor& x);
/// The same formula as GeluNew in a function of its own, which saves its input alone and computes the rest again.
Tensor GeluInParts(Tape& tape, const Tensor& x);
Tensor Dropout(Tape& tape, const Tensor& x, double probability);

// --- products ---
/// x·Wᵀ (+ bias); weight [out, in].
Tensor Linear(Tape& tape, const Tensor& x, Parameter& weight, Parameter* bias);
/// Batched product of [.., m, k] and [.., k, n].
Tensor BatchMatmul(Tape& tape, const Tensor& a, const Tensor& b);
/// A convolution whose kernel is its stride: [batch, channels, size, size] → [batch, hidden, grid, grid].
Tensor PatchConvolution(Tape& tape, const Tensor& pixels, Parameter& weight, Parameter* bias, int64_t grid_height,
                        int64_t grid_width);

// --- tables and norms ---
Tensor Embedding(Tape& tape, Parameter& weight, const Tensor& indices);
Tensor LayerNorm(Tape& tape, const Tensor& x, Parameter& weight, Parameter* bias);
/// The kernel alone, in the formats that it is given; weight and bias may be undefined.
Tensor LayerNormKernel(Tape& tape, const Tensor& x, const Tensor& weight, const Tensor& bias);
/// Softmax over the last dimension, computed and saved in `dtype`.
Tensor Softmax(Tape& tape, const Tensor& x, DType dtype);

struct AttentionOptions {
  bool is_causal = false;
  double dropout = 0;
  const Tensor* mask = nullptr;  // [batch or 1, heads or 1, queries, keys], bool or float
  bool stretches_heads = false;  // shared heads without the kernels' leave: only the plain form takes them
};
/// Queries [batch, heads, n, d]; keys and values [batch, kv heads, m, d]. Takes PyTorch's choice between its flash,
/// memory-efficient and plain kernels.
Tensor ScaledDotProductAttention(Tape& tape, const Tensor& query, const Tensor& key, const Tensor& value,
                                 const AttentionOptions& options);

// --- losses ---
/// Cross entropy of [n, classes] against [n] classes.
Tensor CrossEntropy(Tape& tape, const Tensor& logits, const Tensor& labels);
/// The same in one kernel (as Liger's): the gradient is written over the scores.
Tensor FusedCrossEntropy(Tape& tape, const Tensor& logits, const Tensor& labels);
/// The head and the loss in one kernel that never writes the scores out (as Cut Cross-Entropy's).
Tensor LinearCrossEntropy(Tape& tape, const Tensor& hidden, Parameter& weight, const Tensor& labels);

}  // namespace memstrata::plan::eager
