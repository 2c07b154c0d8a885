#include "plan/eager/encoder_layers.h"

#include <fmt/format.h>

#include <numeric>

namespace memstrata::plan::eager {

EncoderLayers::EncoderLayers(ParameterSet& parameters, const EncoderStack& spec) : spec_(spec) {
  for (int64_t i = 0; i < spec.layer_count; ++i) {
    const std::string prefix = fmt::format("{}layers.{}.", spec.prefix, i);
    const auto linear = [&](const char* name) { return LinearLayer::Find(parameters, prefix + name); };
    const auto norm = [&](const char* name) { return NormLayer::Find(parameters, prefix + name, NormKind::kLayer); };
    layers_.push_back({linear("q_proj"), linear("k_proj"), linear("v_proj"), linear("o_proj"), linear("up_proj"),
                       linear("down_proj"), linear("gate_up_proj"), norm("attention_norm"), norm("mlp_norm"),
                       parameters.Find(prefix + "attention_scale"), parameters.Find(prefix + "mlp_scale")});
  }
  if (!spec_.order.empty()) return;
  spec_.order.resize(layers_.size());
  std::iota(spec_.order.begin(), spec_.order.end(), 0);
}

Tensor EncoderLayers::Run(Tape& tape, Tensor hidden, AttentionCall call, CheckpointKind checkpoint) const {
  Tensor weights;  // of the layer before, where layers give them back
  if (call.form == AttentionForm::kOlder && checkpoint == CheckpointKind::kNone) call.returned = &weights;
  for (const int64_t index : spec_.order) {
    if (checkpoint == CheckpointKind::kNone || !spec_.recomputes) {
      hidden = LayerOfRank(tape, index, hidden, call);
    } else if (checkpoint == CheckpointKind::kNonReentrant) {
      hidden = tape.Checkpoint([this, index, hidden, call](Tape& t) { return LayerOfRank(t, index, hidden, call); });
    } else {
      hidden = tape.CheckpointReentrant(
          hidden, [this, index, call](Tape& t, const Tensor& x) { return LayerOfRank(t, index, x, call); });
    }
  }
  return hidden;
}

Tensor EncoderLayers::LayerOfRank(Tape& tape, int64_t index, const Tensor& hidden, const AttentionCall& call) const {
  return tape.RunLayer(index, hidden,
                       [&](const Tensor& x) { return Layer(tape, layers_[static_cast<size_t>(index)], x, call); });
}

Tensor EncoderLayers::Layer(Tape& tape, const EncoderLayer& layer, const Tensor& hidden,
                            const AttentionCall& call) const {
  if (spec_.norms_first) {
    Tensor normed = layer.attention_norm(tape, hidden);
    Tensor attention = Attention(tape, layer, normed, call);
    if (spec_.scales_results) attention = Multiply(tape, attention, layer.attention_scale->value);
    const Tensor residual = Add(tape, attention, hidden);
    if (!spec_.holds_attention_results) normed = attention = Tensor{};
    Tensor x = Mlp(tape, layer, layer.mlp_norm(tape, residual));
    if (spec_.scales_results) x = Multiply(tape, x, layer.mlp_scale->value);
    return Add(tape, residual, x);
  }
  Tensor x = Attention(tape, layer, hidden, call);
  x = layer.attention_norm(tape, Add(tape, x, hidden));
  return layer.mlp_norm(tape, Add(tape, Mlp(tape, layer, x), x));
}

Tensor EncoderLayers::Heads(const Tensor& x) const {
  const int64_t head_dim = spec_.hidden / spec_.heads;
  return Transposed(View(x, {x.shape[0], x.shape[1], spec_.heads, head_dim}),
                    {x.shape[0], spec_.heads, x.shape[1], head_dim});
}

Tensor EncoderLayers::Attention(Tape& tape, const EncoderLayer& layer, const Tensor& x,
                                const AttentionCall& call) const {
  const Tensor query = Heads(layer.query(tape, x));
  const Tensor key = Heads(layer.key(tape, x));
  const Tensor value = Heads(layer.value(tape, x));
  const Tensor output = layer.output(tape, Attend(tape, query, key, value, call));
  return spec_.drops_attention_output ? Dropout(tape, output, spec_.dropout) : output;
}

Tensor EncoderLayers::Mlp(Tape& tape, const EncoderLayer& layer, const Tensor& x) const {
  if (spec_.fuses_gate_up) {
    const Tensor joined = layer.gate_up(tape, x);
    std::vector<Tensor> parts = Split(tape, joined, {joined.shape.back() / 2, joined.shape.back() / 2});
    for (Tensor& part : parts) part.is_contiguous = true;  // what is computed of a half lies row by row
    return layer.down(tape, Multiply(tape, Activate(tape, parts[0], spec_.activation), parts[1]));
  }
  const Tensor output = layer.down(tape, Activate(tape, layer.up(tape, x), spec_.activation));
  return spec_.drops_mlp_output ? Dropout(tape, output, spec_.dropout) : output;
}

}  // namespace memstrata::plan::eager
