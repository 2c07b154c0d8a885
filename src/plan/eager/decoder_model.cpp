#include "plan/eager/decoder_model.h"

#include <fmt/format.h>

#include "plan/eager/experts.h"
#include "plan/eager/layers.h"

namespace memstrata::plan::eager {
namespace {

struct DecoderLayer {
  LinearLayer query, key, value, qkv, output;
  LinearLayer gate, up, gate_up, down;
  NormLayer input_norm, mlp_norm, query_norm, key_norm, attention_output_norm, mlp_output_norm;
  std::optional<ExpertMlp> experts;
};

class Decoder final : public EagerModel {
 public:
  Decoder(Tape& tape, const DecoderSpec& spec, DType dtype, const AdapterOptions& adapters)
      : spec_(spec),
        parameters_(tape, WithSingleExperts(DecoderParameters(spec)), DecoderBuffers(spec), dtype, adapters) {
    is_adapted_ = adapters.IsUsed();
    if (is_adapted_) parameters_.AddAdapters(tape, adapters);
    for (int64_t i = 0; i < spec.layer_count; ++i) layers_.push_back(FindLayer(i));
    final_norm_ = NormLayer::Find(parameters_, "norm", spec.norm);
    head_ = LinearLayer::Find(parameters_, spec.ties_head ? "embed_tokens" : "lm_head");
  }

  ParameterSet& parameters() override { return parameters_; }

  ModelInputs MakeInputs(Tape& tape, const RunOptions& options) override {
    const Shape shape{options.batch, options.sequence};
    ModelInputs inputs;
    inputs.ids = tape.Empty(shape, DType::kInt64);
    if (options.mask != MaskKind::kNone) inputs.mask = tape.Empty(shape, DType::kInt64);
    if (options.is_training) inputs.labels = tape.Empty(shape, DType::kInt64);
    return inputs;
  }

  ModelOutput Forward(Tape& tape, const ModelInputs& inputs, const RunOptions& given,
                      std::shared_ptr<KvCache> cache) override {
    ModelOutput output;
    RunOptions options = given;
    if (!spec_.recomputes) options.checkpoint = CheckpointKind::kNone;
    if (IsInPieces(spec_.attention_form)) options.attention = AttentionKind::kEager;
    if (options.use_cache) output.cache = cache ? std::move(cache) : std::make_shared<KvCache>();
    Tensor hidden = Body(tape, inputs, options, output.cache.get());
    output.others.push_back(hidden);
    if (!spec_.keeps_all_logits && options.logits_to_keep > 0 && options.logits_to_keep < hidden.shape[1]) {
      hidden = Slice(tape, hidden, 1, options.logits_to_keep);
    }
    const bool writes_logits = options.loss == LossKind::kPlain || options.loss == LossKind::kFused;
    if (inputs.labels.defined() && !writes_logits) {
      output.loss = LossWithoutLogits(tape, head_, hidden, inputs.labels, options.loss);
      return output;
    }
    output.logits = head_(tape, hidden);
    output.logits.storage->Relabel(Category::kLogits);
    if (spec_.casts_logits) {
      output.logits = Cast(tape, output.logits, DType::kFloat32);
      output.logits.storage->Relabel(Category::kLogits);
    }
    if (spec_.scales_logits) output.logits = Scale(tape, output.logits);
    if (spec_.caps_logits) {
      output.logits = Scale(tape, output.logits);
      output.logits = ActivationSavingResult(tape, output.logits);
      output.logits = Scale(tape, output.logits);
    }
    if (inputs.labels.defined()) output.loss = CausalLoss(tape, output.logits, inputs.labels, options.loss);
    return output;
  }

 private:
  DecoderLayer FindLayer(int64_t index) {
    const std::string prefix = fmt::format("layers.{}.", index);
    const auto linear = [&](const char* name) { return LinearLayer::Find(parameters_, prefix + name); };
    const auto norm = [&](const char* name) { return NormLayer::Find(parameters_, prefix + name, spec_.norm); };
    DecoderLayer layer;
    layer.query = linear("q_proj");
    layer.key = linear("k_proj");
    layer.value = linear("v_proj");
    layer.qkv = linear("qkv_proj");
    layer.output = linear("o_proj");
    layer.gate = linear("gate_proj");
    layer.up = linear("up_proj");
    layer.gate_up = linear("gate_up_proj");
    layer.down = linear("down_proj");
    layer.input_norm = norm("input_norm");
    layer.mlp_norm = norm("mlp_norm");
    layer.query_norm = norm("q_norm");
    layer.key_norm = norm("k_norm");
    layer.attention_output_norm = norm("attention_output_norm");
    layer.mlp_output_norm = norm("mlp_output_norm");
    if (spec_.experts.IsSparse(index)) layer.experts.emplace(parameters_, prefix, spec_);
    return layer;
  }

  struct Context {  // what every layer of one forward is given
    RunOptions options;
    RotaryTables rotary;
    RotaryTables local_rotary;
    Tensor mask;
    Tensor sliding_mask;
    Tensor distances;
    Tensor attention_weights;  // of the layer before, where layers give them back
    KvCache* cache = nullptr;
  };

  Tensor Embed(Tape& tape, const Tensor& ids, CheckpointKind checkpoint) {
    Tensor hidden = Embedding(tape, parameters_.Get("embed_tokens.weight"), ids);
    if (is_adapted_ && checkpoint != CheckpointKind::kNone) hidden.requires_grad = true;  // recomputing asks for it
    if (Parameter* positions = parameters_.Find("embed_positions.weight")) {
      const int64_t rows = spec_.has_position_per_sample ? ids.shape[0] : 1;
      const Tensor index = tape.Empty({rows, ids.shape[1]}, DType::kInt64);
      hidden = Add(tape, hidden, Embedding(tape, *positions, index));
    }
    if (spec_.norms_embedding) hidden = NormLayer::Find(parameters_, "embedding_norm", spec_.norm)(tape, hidden);
    return hidden;
  }

  Tensor Body(Tape& tape, const ModelInputs& inputs, const RunOptions& options, KvCache* cache) {
    auto context = std::make_shared<Context>();
    context->options = options;
    context->cache = options.checkpoint == CheckpointKind::kNone || !tape.grad_enabled() ? cache : nullptr;
    Tensor hidden = Embed(tape, inputs.ids, tape.grad_enabled() ? options.checkpoint : CheckpointKind::kNone);
    const Tensor positions = tape.Empty({inputs.ids.shape[1]}, DType::kInt64);
    const int64_t past = cache != nullptr && !cache->keys.empty() ? cache->keys[0].shape[2] : 0;
    const int64_t queries = inputs.ids.shape[1];
    context->mask = CausalMask(tape, options, inputs.mask, hidden.dtype, context->cache != nullptr, queries,
                               past + queries, 0, spec_.attention_form);
    if (spec_.attention_form == AttentionForm::kAddedBias)
      context->distances = tape.Empty({spec_.heads, 1, past + queries}, DType::kFloat32);
    if (spec_.sliding_window > 0) {
      context->sliding_mask = CausalMask(tape, options, inputs.mask, hidden.dtype, context->cache != nullptr, queries,
                                         past + queries, spec_.sliding_window, spec_.attention_form);
    }
    hidden = Dropout(tape, hidden, spec_.embedding_dropout);
    if (spec_.rotary_dim > 0 && !spec_.rotary.is_of_layers)
      context->rotary = MakeRotaryTables(tape, queries, spec_.rotary_dim, hidden.dtype);
    if (spec_.has_local_rotary) context->local_rotary = MakeRotaryTables(tape, queries, spec_.rotary_dim, hidden.dtype);
    if (spec_.scales_embedding) hidden = Scale(tape, hidden);
    for (size_t i = 0; i < layers_.size(); ++i) hidden = RunLayer(tape, i, hidden, context);
    context->attention_weights = Tensor{};
    return spec_.has_final_norm ? final_norm_(tape, hidden) : hidden;
  }

  Tensor RunLayer(Tape& tape, size_t index, const Tensor& hidden, const std::shared_ptr<Context>& context) {
    const bool is_kept = static_cast<int64_t>(index) % context->options.checkpoint_every != 0;
    switch (is_kept ? CheckpointKind::kNone : context->options.checkpoint) {
      case CheckpointKind::kNone:
        return LayerOfRank(tape, index, hidden, *context);
      case CheckpointKind::kNonReentrant:
        return tape.Checkpoint([=, this](Tape& t) { return LayerOfRank(t, index, hidden, *context); });
      case CheckpointKind::kReentrant:
        return tape.CheckpointReentrant(
            hidden, [=, this](Tape& t, const Tensor& x) { return LayerOfRank(t, index, x, *context); });
    }
    return {};
  }

  Tensor LayerOfRank(Tape& tape, size_t index, const Tensor& hidden, Context& context) {
    return tape.RunLayer(static_cast<int64_t>(index), hidden,
                         [&](const Tensor& x) { return Layer(tape, index, x, context); });
  }

  Tensor Layer(Tape& tape, size_t index, const Tensor& hidden, Context& context) {
    const DecoderLayer& layer = layers_[index];
    if (spec_.parallel_residual) return ParallelLayer(tape, index, hidden, context);
    Tensor x = spec_.norms_inputs ? layer.input_norm(tape, hidden) : hidden;
    x = Attention(tape, index, x, context);
    if (spec_.norms_outputs) x = layer.attention_output_norm(tape, x);
    x = Dropout(tape, x, spec_.residual_dropout);
    const Tensor residual = Add(tape, hidden, Weighed(tape, x));
    x = spec_.norms_inputs ? layer.mlp_norm(tape, residual) : residual;
    x = Mlp(tape, layer, x);
    if (spec_.norms_outputs) x = layer.mlp_output_norm(tape, x);
    x = Dropout(tape, x, spec_.residual_dropout);
    return Add(tape, residual, Weighed(tape, x));
  }

  // A block's result as it goes onto the residual.
  Tensor Weighed(Tape& tape, const Tensor& x) const { return spec_.scales_residual ? Scale(tape, x) : x; }

  Tensor ParallelLayer(Tape& tape, size_t index, const Tensor& hidden, Context& context) {
    const DecoderLayer& layer = layers_[index];
    Tensor attention;
    Tensor mlp;
    if (spec_.shares_norm) {
      const Tensor x = layer.input_norm(tape, hidden);
      attention = Dropout(tape, Attention(tape, index, x, context), spec_.residual_dropout);
      mlp = Dropout(tape, Mlp(tape, layer, x), spec_.residual_dropout);
    } else {
      attention =
          Dropout(tape, Attention(tape, index, layer.input_norm(tape, hidden), context), spec_.residual_dropout);
      mlp = Dropout(tape, Mlp(tape, layer, layer.mlp_norm(tape, hidden)), spec_.residual_dropout);
    }
    if (spec_.adds_in_place) return Add(tape, hidden, AddInPlace(tape, mlp, attention));
    if (spec_.adds_to_residual) return Add(tape, Add(tape, hidden, attention), mlp);
    return Add(tape, Add(tape, mlp, attention), hidden);
  }

  Tensor Heads(Tape& tape, const Tensor& x, int64_t heads, const NormLayer& norm) const {
    const bool is_normed = spec_.qk_norm && norm.weight != nullptr && !spec_.qk_norm_is_last;
    const Tensor wide = is_normed && spec_.qk_norm_is_wide ? norm(tape, x) : x;
    Tensor by_token = View(wide, {x.shape[0], x.shape[1], heads, spec_.head_dim});
    if (is_normed && !spec_.qk_norm_is_wide) by_token = norm(tape, by_token);
    return Transposed(by_token, {x.shape[0], heads, x.shape[1], spec_.head_dim});
  }

  struct Qkv {
    Tensor query, key, value;
  };

  Qkv Project(Tape& tape, const DecoderLayer& layer, const Tensor& x) const {
    const int64_t q = spec_.heads * spec_.head_dim;
    const int64_t kv = spec_.kv_heads * spec_.head_dim;
    const NormLayer none;
    if (spec_.qkv == QkvLayout::kSeparate) {
      Qkv result;
      Tensor query = layer.query(tape, x);
      if (spec_.scales_query) query = Scale(tape, query);
      result.query = Heads(tape, query, spec_.heads, layer.query_norm);
      result.key = Heads(tape, layer.key(tape, x), spec_.kv_heads, layer.key_norm);
      result.value = Heads(tape, layer.value(tape, x), spec_.kv_heads, none);
      return result;
    }
    const Tensor joined = layer.qkv(tape, x);
    std::vector<Tensor> parts;
    if (spec_.qkv == QkvLayout::kFusedGroups) return CopyGroups(tape, joined);
    if (spec_.qkv == QkvLayout::kFusedQuery) {
      parts = {Slice(tape, joined, -1, q), Clone(tape, Slice(tape, joined, -1, kv)),
               Clone(tape, Slice(tape, joined, -1, kv))};
    } else if (spec_.qkv == QkvLayout::kFusedSlices || spec_.qkv == QkvLayout::kFusedThirds) {
      parts = {Slice(tape, joined, -1, q), Slice(tape, joined, -1, kv), Slice(tape, joined, -1, kv)};
    } else {
      parts = Split(tape, joined, {q, kv, kv});
    }
    if (spec_.qkv == QkvLayout::kFusedCopies) {
      for (Tensor& part : parts) part = Clone(tape, part);
    }
    for (Tensor& part : parts) part.is_contiguous = true;  // Heads() turns them into views whose order differs
    return {Heads(tape, parts[0], spec_.heads, none), Heads(tape, parts[1], spec_.kv_heads, none),
            Heads(tape, parts[2], spec_.kv_heads, none)};
  }

  // Keys and values are written out for each head, which is also how they are cached.
  Qkv CopyGroups(Tape& tape, const Tensor& joined) const {
    const int64_t kv = spec_.kv_heads * spec_.head_dim;
    const Shape by_token{joined.shape[0], joined.shape[1], spec_.heads, spec_.head_dim};
    const auto stretched = [&](const Tensor& part) {
      const Shape grouped{joined.shape[0], joined.shape[1], spec_.kv_heads, spec_.heads / spec_.kv_heads,
                          spec_.head_dim};
      return ExpandCopy(tape, Clone(tape, part), grouped, by_token);
    };
    const Tensor query = Clone(tape, Slice(tape, joined, -1, spec_.heads * spec_.head_dim));
    const NormLayer none;
    return {Heads(tape, query, spec_.heads, none),
            Heads(tape, stretched(Slice(tape, joined, -1, kv)), spec_.heads, none),
            Heads(tape, stretched(Slice(tape, joined, -1, kv)), spec_.heads, none)};
  }

  bool Turns(int64_t layer) const {
    const bool is_of_windows = spec_.rotary.is_of_windows && spec_.sliding_window > 0;
    return spec_.IsTurned(layer) && (!is_of_windows || spec_.IsSliding(layer));
  }

  // What one layer looks up of its own table of positions.
  struct LayerPositions {
    Tensor copy, indices, values;
    RotaryTables tables;
  };

  LayerPositions LookUpPositions(Tape& tape, size_t index, int64_t tokens, DType dtype) {
    const int64_t width = spec_.rotary_dim;
    moved_tables_.resize(layers_.size());
    Tensor& table = moved_tables_[index];
    if (!table.defined()) table = tape.Empty({spec_.rotary.table_rows, width}, DType::kFloat32, Category::kBuffer);
    LayerPositions positions;
    if (spec_.rotary.copies_table) {
      positions.copy = tape.Empty(table.shape, DType::kFloat32);
      positions.indices = tape.Empty({1, tokens, width}, DType::kInt64);
    }
    positions.values = tape.Empty({1, 1, tokens, width}, DType::kFloat32);
    if (spec_.rotary.copies_table) positions.values = Cast(tape, positions.values, dtype);
    positions.tables = {positions.values, positions.values};  // the two halves
    return positions;
  }

  Tensor Attention(Tape& tape, size_t index, const Tensor& x, Context& context) {
    const DecoderLayer& layer = layers_[index];
    auto [query, key, value] = Project(tape, layer, x);
    const bool is_sliding = spec_.IsSliding(static_cast<int64_t>(index));
    LayerPositions positions;  // under their names until the end
    if (spec_.rotary.is_of_layers) {
      positions = LookUpPositions(tape, index, x.shape[1], key.dtype);
      key = ApplyRotary(tape, key, Interleaved(tape, positions.tables), true, false);
      query = ApplyRotary(tape, query, Interleaved(tape, positions.tables), true, false);
      key.is_contiguous = query.is_contiguous = false;  // token by token
    } else if (Turns(static_cast<int64_t>(index))) {
      RotaryTables tables = spec_.has_local_rotary && is_sliding ? context.local_rotary : context.rotary;
      if (spec_.rotary.interleaves) tables = Interleaved(tape, tables);
      const Tensor turned = ApplyRotary(tape, query, tables, spec_.concatenates_rotary, spec_.rotary.is_float32);
      key = ApplyRotary(tape, key, tables, spec_.concatenates_rotary, spec_.rotary.is_float32);
      query = turned;
    }
    if (spec_.qk_norm_is_last) {
      query = layer.query_norm(tape, query);
      key = layer.key_norm(tape, key);
      key.is_contiguous = query.is_contiguous = false;  // token by token
    }
    if (context.cache != nullptr) {
      if (spec_.rotary.is_of_layers) key = Cast(tape, key, x.dtype);
      std::tie(key, value) =
          UpdateCache(tape, *context.cache, index, key, value, is_sliding ? spec_.sliding_window : 0);
    }
    AttentionCall call;
    call.kind = context.options.attention;
    call.form = spec_.attention_form;
    call.distances = context.distances;
    if (context.options.checkpoint == CheckpointKind::kNone) call.returned = &context.attention_weights;
    call.caps_scores = spec_.caps_scores;
    call.softmax_in_input_dtype = spec_.model_type == "gpt2";
    call.dropout = context.options.is_training ? spec_.attention_dropout : 0;
    call.mask = is_sliding ? context.sliding_mask : context.mask;
    Tensor attended = Attend(tape, query, key, value, call);
    if (layer.output.adapter != nullptr && layer.output.adapter->prompt != nullptr)
      attended = Add(tape, attended, AttendToPrompt(tape, layer, query));
    return layer.output(tape, attended);
  }

  // The learned tokens pass the layer's own projections; their result is weighed by a gate.
  Tensor AttendToPrompt(Tape& tape, const DecoderLayer& layer, const Tensor& query) const {
    const auto [own_query, key, value] = Project(tape, layer, layer.output.adapter->prompt->value);
    AttentionCall call;
    call.is_causal = false;
    return Multiply(tape, layer.output.adapter->gate->value, Attend(tape, query, key, value, call));
  }

  Tensor Mlp(Tape& tape, const DecoderLayer& layer, const Tensor& x) const {
    if (layer.experts) return (*layer.experts)(tape, x);
    if (spec_.fuses_gate_up) {
      const Tensor joined = layer.gate_up(tape, x);
      std::vector<Tensor> parts = Split(tape, joined, {spec_.intermediate, spec_.intermediate});
      for (Tensor& part : parts) part.is_contiguous = true;  // what is computed of a half lies row by row
      return layer.down(tape, Multiply(tape, parts[1], Activate(tape, parts[0], spec_.activation)));
    }
    if (!spec_.is_gated) {
      Tensor inner = layer.up(tape, x);
      inner = Activate(tape, inner, spec_.activation);
      return layer.down(tape, inner);
    }
    const Tensor gate = Activate(tape, layer.gate(tape, x), spec_.activation);
    return layer.down(tape, Multiply(tape, gate, layer.up(tape, x)));
  }

  DecoderSpec spec_;
  ParameterSet parameters_;
  bool is_adapted_ = false;  // what is frozen has no gradients, adapters beside it do
  std::vector<DecoderLayer> layers_;
  std::vector<Tensor> moved_tables_;  // of positions, of each layer that has one
  NormLayer final_norm_;
  LinearLayer head_;
};

}  // namespace

std::unique_ptr<EagerModel> MakeDecoder(Tape& tape, const DecoderSpec& spec, DType dtype,
                                        const AdapterOptions& adapters) {
  return std::make_unique<Decoder>(tape, spec, dtype, adapters);
}

}  // namespace memstrata::plan::eager
