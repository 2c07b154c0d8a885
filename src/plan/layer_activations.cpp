#include "plan/layer_activations.h"

#include "plan/constants.h"
#include "plan/engine_profile.h"

namespace memstrata::plan {

int64_t InnerWidth(const DecoderSpec& spec, int64_t layer) {
  if (!spec.experts.IsSparse(layer)) return spec.intermediate;
  return spec.experts.per_token * spec.experts.intermediate + spec.experts.shared_intermediate;
}

namespace {

// 34 bytes a hidden element for a plain layer; a decoder behind an encoder has one more attention.
LayerActivations SavedByPlainLayer(const ModelDescription& model, const Workload& w, int64_t layer) {
  LayerActivations saved;
  const auto hidden = static_cast<double>(model.hidden);
  const bool has_cross_attention = model.encoder_layers > 0 && layer >= model.encoder_layers;
  saved.replicated_each = (has_cross_attention ? 15 : 10) * hidden;
  saved.divided_each = (has_cross_attention ? 32 : 24) * hidden;
  const auto* t5 = std::get_if<T5Spec>(&model.step);
  const double inner = t5 == nullptr ? hidden : static_cast<double>(t5->heads * t5->head_dim);
  if (t5 != nullptr)
    saved.divided_each = (has_cross_attention ? 16 : 8) * inner + 4 * static_cast<double>(t5->intermediate);
  const int64_t target = w.target_sequence > 0 ? w.target_sequence : w.sequence;
  // The keys and values of cross attention are of the encoder's tokens, all else of a layer of its own.
  const double encoder_tokens = static_cast<double>(w.sequence) / static_cast<double>(target);
  if (has_cross_attention) saved.divided_each += 4 * inner * (encoder_tokens - 1);
  if (t5 != nullptr && w.eager_attention) {
    const int64_t attended = has_cross_attention ? target + w.sequence : w.sequence;
    saved.divided_each += 5 * static_cast<double>(t5->heads * attended);
  }
  return saved;
}

// Every other matrix product and the attention's result: query, value, gate, and the last product unless a compiler
// sees that its value is not needed.
LayerActivations SavedProducts(const DecoderSpec& spec, const Workload& w, int64_t layer) {
  const auto hidden = static_cast<double>(spec.hidden);
  const double query = static_cast<double>(spec.heads * spec.head_dim);
  const double kv = static_cast<double>(spec.kv_heads * spec.head_dim);
  LayerActivations saved;
  saved.replicated_each = (w.is_compiled || !spec.is_gated ? 2 : 4) * hidden;
  saved.divided_each =
      2 * (2 * query + kv) + 4 * static_cast<double>(spec.heads) + 2 * static_cast<double>(InnerWidth(spec, layer));
  return saved;
}

// Elements that a mixer without attention saves, a token.
double SavedByState(const DecoderSpec& spec, int64_t layer) {
  if (spec.MixerOf(layer) == MixerKind::kRecurrence) return static_cast<double>(spec.recurrence.SavedEach());
  return spec.MixerOf(layer) == MixerKind::kNone ? 0 : static_cast<double>(spec.state_space.SavedEach());
}

// A layer whose mixer is a state or nothing: the norm's input and result of each block, and what the blocks save.
LayerActivations SavedByStateSpaceLayer(const DecoderSpec& spec, int64_t layer) {
  const bool has_state = spec.MixerOf(layer) != MixerKind::kNone;
  const bool has_mlp = spec.HasMlp(layer);
  LayerActivations saved;
  saved.replicated_each = 4 * static_cast<double>(spec.hidden) * ((has_state ? 1 : 0) + (has_mlp ? 1 : 0));
  saved.divided_each = 2 * SavedByState(spec, layer);
  if (has_mlp) saved.divided_each += 2 * (spec.is_gated ? 3 : 2) * static_cast<double>(InnerWidth(spec, layer));
  return saved;
}

LayerActivations SavedByDecoderLayer(const DecoderSpec& spec, const Workload& w, int64_t layer) {
  const EngineProfile profile = ProfileOf(w);
  const MixerKind mixer = spec.MixerOf(layer);
  if (mixer == MixerKind::kStateSpace || mixer == MixerKind::kRecurrence || mixer == MixerKind::kNone)
    return SavedByStateSpaceLayer(spec, layer);
  if (w.recompute == Recompute::kSelective && profile.keeps_products) return SavedProducts(spec, w, layer);
  LayerActivations saved;
  const auto hidden = static_cast<double>(spec.hidden);
  const double query = static_cast<double>(spec.heads * spec.head_dim);
  const double kv = static_cast<double>(spec.kv_heads * spec.head_dim);
  const auto inner = static_cast<double>(InnerWidth(spec, layer));
  // Inputs of both norms and of both blocks, and the masks of the dropouts behind them.
  const double dropout_masks = spec.residual_dropout > 0 ? 2 * hidden : 0;
  const double norm_copies = profile.saves_unfused && IsRootMeanSquare(spec.norm) ? 8 * hidden : 0;
  saved.replicated_each = 8 * hidden + dropout_masks + norm_copies;
  if (spec.experts.IsSparse(layer)) {
    // Routed tokens are copied for the experts, and their results come back before they are weighed.
    saved.replicated_each +=
        GetConstant("routed_token_copies").best * 2 * hidden * static_cast<double>(spec.experts.per_token);
  }
  const double first_products = (spec.is_gated ? 2 : 1) + (profile.saves_unfused && spec.is_gated ? 1 : 0);
  saved.divided_each =
      2 * (2 * query + 2 * kv) + 4 * static_cast<double>(spec.heads) + 2 * (first_products + 1) * inner;
  if (mixer == MixerKind::kAttentionAndState) saved.divided_each += 2 * SavedByState(spec, layer);
  if (w.eager_attention && w.recompute != Recompute::kSelective) {
    // Scores, their softmax and its dropout for every pair of tokens.
    const double each = spec.attention_dropout > 0 ? 5 : 2;
    saved.divided_each += each * static_cast<double>(spec.heads) * static_cast<double>(w.sequence) /
                          static_cast<double>(w.parallel.context);
  }
  return saved;
}

}  // namespace

LayerActivations SavedByLayer(const ModelDescription& model, const Workload& w, int64_t layer) {
  const DecoderSpec* spec = model.decoder();
  return spec == nullptr ? SavedByPlainLayer(model, w, layer) : SavedByDecoderLayer(*spec, w, layer);
}

}  // namespace memstrata::plan
