#pragma once
// Building blocks that several model families share, written as the families' Python writes them.

#include "plan/eager/model.h"
#include "plan/model/decoder_spec.h"

namespace memstrata::plan::eager {

/// A linear layer with its name in the parameter set; adds the adapter when there is one.
struct LinearLayer {
  Parameter* weight = nullptr;
  Parameter* bias = nullptr;
  const ParameterSet::Adapter* adapter = nullptr;

  static LinearLayer Find(ParameterSet& parameters, const std::string& name);
  Tensor operator()(Tape& tape, const Tensor& x) const;
};

struct NormLayer {
  NormKind kind = NormKind::kRms;
  Parameter* weight = nullptr;
  Parameter* bias = nullptr;

  static NormLayer Find(ParameterSet& parameters, const std::string& name, NormKind kind);
  Tensor operator()(Tape& tape, const Tensor& x) const;
};

Tensor Activate(Tape& tape, const Tensor& x, ActivationKind kind);

/// cos and sin of the positions, [1, 1, sequence, dimension].
struct RotaryTables {
  Tensor cosine;
  Tensor sine;
};
RotaryTables MakeRotaryTables(Tape& tape, int64_t sequence, int64_t dimension, DType dtype);
/// `concatenates`: the turned part is joined with the (possibly empty) rest even when all dimensions are turned.
Tensor ApplyRotary(Tape& tape, const Tensor& x, const RotaryTables& tables, bool concatenates, bool in_float32);
/// The tables with each value written twice, side by side.
RotaryTables Interleaved(Tape& tape, const RotaryTables& tables);

/// [batch, 1, queries, keys] truth values, or none where the causal flag of the kernel is enough.
Tensor CausalMask(Tape& tape, const RunOptions& options, const Tensor& padding, DType dtype, bool has_cache,
                  int64_t query_count, int64_t key_count, int64_t window, AttentionForm form);

/// Attention as Hugging Face's `sdpa` or `eager` function computes it: [batch, heads, n, d] → [batch, n, heads·d].
struct AttentionCall {
  AttentionKind kind = AttentionKind::kFused;
  AttentionForm form = AttentionForm::kCommon;
  bool is_causal = true;
  double dropout = 0;
  bool softmax_in_input_dtype = false;  // older `eager` functions: no float32 unless autocast asks for it
  bool caps_scores = false;             // scores pass a scaled tanh (`eager` only)
  Tensor mask;
  Tensor distances;            // of each head, for AttentionForm::kAddedBias
  Tensor* returned = nullptr;  // where the weights go that a layer in pieces gives back with its result
};
Tensor Attend(Tape& tape, const Tensor& query, const Tensor& key, const Tensor& value, const AttentionCall& call);
/// The same for the forms of IsInPieces, [batch, n, heads, d].
Tensor AttendInPieces(Tape& tape, const Tensor& query, const Tensor& key, const Tensor& value,
                      const AttentionCall& call);
/// A result by heads, copied token by token.
Tensor TokenByToken(Tape& tape, const Tensor& by_head);

/// Tokens that each layer holds.
std::vector<int64_t> CacheLengths(const KvCache& cache);
/// The cache after so many further tokens, of layers that grew since `lengths_before` were taken; layers with a window
/// grow up to it.
void GrowCache(Tape& tape, KvCache& cache, const std::vector<int64_t>& lengths_before, int64_t tokens);
/// Extends the cache of a layer and gives back all keys and values.
std::pair<Tensor, Tensor> UpdateCache(Tape& tape, KvCache& cache, size_t layer, const Tensor& key, const Tensor& value,
                                      int64_t window);

/// Loss of a causal language model: labels shifted, cross entropy of the logits in float32 or, fused, as they are.
Tensor CausalLoss(Tape& tape, const Tensor& logits, const Tensor& labels, LossKind kind);
/// The loss without all logits at once: an eighth of the tokens passes the head and the loss at a time and again in the
/// backward, or the two are one kernel.
Tensor LossWithoutLogits(Tape& tape, const LinearLayer& head, const Tensor& hidden, const Tensor& labels,
                         LossKind kind);

}  // namespace memstrata::plan::eager
