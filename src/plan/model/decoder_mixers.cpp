// Which layer of a hybrid is what. Each family writes it down in its own way.

#include <fmt/format.h>

#include <algorithm>

#include "plan/model/decoder_readers.h"

namespace memstrata::plan {
namespace {

std::vector<MixerKind> AllLayers(const DecoderSpec& spec, MixerKind kind) {
  return std::vector<MixerKind>(static_cast<size_t>(spec.layer_count), kind);
}

// By period and offset.
Status ReadJamba(const ConfigJson& config, DecoderSpec& spec) {
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t period, config.Integer("attn_layer_period", 8));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t offset, config.Integer("attn_layer_offset", 4));
  if (period == 0) return Fail(ErrorCode::kInvalidArgument, "attn_layer_period is 0; it is a number of layers.");
  for (size_t i = 0; i < spec.mixers.size(); ++i) {
    if (static_cast<int64_t>(i) % period == offset) spec.mixers[i] = MixerKind::kAttention;
  }
  return {};
}

// By a letter for each layer.
Status ReadNemotron(const ConfigJson& config, DecoderSpec& spec) {
  const std::string pattern = config.Text("hybrid_override_pattern").value_or("");
  if (pattern.size() != spec.mixers.size()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("hybrid_override_pattern names {} layers, num_hidden_layers {}.", pattern.size(),
                            spec.layer_count));
  }
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '*') spec.mixers[i] = MixerKind::kAttention;
    if (pattern[i] == '-') spec.mixers[i] = MixerKind::kNone;
  }
  spec.has_single_blocks = true;
  spec.activation = ActivationKind::kSavesResult;
  return {};
}

// By `layer_types`: "attention" and "full_attention" against all others.
void AttendWhereListed(const std::vector<std::string>& types, DecoderSpec& spec) {
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == "attention" || types[i] == "full_attention") spec.mixers[i] = MixerKind::kAttention;
  }
}

void AttendAt(const std::vector<int64_t>& layers, DecoderSpec& spec) {
  for (const int64_t layer : layers) {
    if (layer >= 0 && layer < static_cast<int64_t>(spec.mixers.size()))
      spec.mixers[static_cast<size_t>(layer)] = MixerKind::kAttention;
  }
}

Status ReadStateSpaceHybrid(const ConfigJson& config, DecoderSpec& spec) {
  const std::string& type = spec.model_type;
  MEMSTRATA_ASSIGN_OR_RETURN(spec.state_space, ReadStateSpace(config, type, spec.hidden));
  spec.mixers = AllLayers(spec, type == "falcon_h1" ? MixerKind::kAttentionAndState : MixerKind::kStateSpace);
  if (type == "jamba") return ReadJamba(config, spec);
  if (type == "nemotron_h") return ReadNemotron(config, spec);
  if (type == "granitemoehybrid") {
    MEMSTRATA_ASSIGN_OR_RETURN(const std::vector<std::string> types, ReadLayerTypes(config, spec.layer_count));
    AttendWhereListed(types, spec);
  }
  if (type == "bamba") AttendAt(config.Integers("attn_layer_indices"), spec);
  return {};
}

Status ReadRecurrentHybrid(const ConfigJson& config, DecoderSpec& spec) {
  const std::string& type = spec.model_type;
  spec.mixers = AllLayers(spec, MixerKind::kRecurrence);
  if (type == "recurrent_gemma") {
    std::vector<std::string> kinds = config.Texts("block_types");
    if (kinds.empty()) kinds = {"recurrent", "recurrent", "attention"};
    for (size_t i = 0; i < spec.mixers.size(); ++i) {
      if (kinds[i % kinds.size()] == "attention") spec.mixers[i] = MixerKind::kAttention;
    }
    MEMSTRATA_ASSIGN_OR_RETURN(spec.sliding_window, config.Integer("attention_window_size", 2048));
    spec.intermediate /= 2;  // the configuration counts both halves of the gated MLP
    return {};
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const std::vector<std::string> types, ReadLayerTypes(config, spec.layer_count));
  if (!types.empty()) {
    AttendWhereListed(types, spec);
  } else if (spec.recurrence.kind == RecurrenceSpec::Kind::kGatedDelta) {
    MEMSTRATA_ASSIGN_OR_RETURN(const int64_t period, config.Integer("full_attention_interval", 4));
    for (size_t i = 0; period > 0 && i < spec.mixers.size(); ++i) {
      if ((static_cast<int64_t>(i) + 1) % period == 0) spec.mixers[i] = MixerKind::kAttention;
    }
  } else if (config.Has("full_attn_idxs")) {
    AttendAt(config.Integers("full_attn_idxs"), spec);
  } else {
    spec.mixers = AllLayers(spec, MixerKind::kAttention);
  }
  return {};
}

// LFM2 takes two thirds of the width, times a factor, rounded up.
Status AdjustWidth(const ConfigJson& config, DecoderSpec& spec) {
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t width, config.Integer("block_ff_dim", spec.intermediate));
  spec.intermediate = width;
  if (!config.Flag("block_auto_adjust_ff_dim", true)) return {};
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t multiple, config.Integer("block_multiple_of", 256));
  if (multiple == 0 || multiple > ConfigJson::kLargestSize || width > ConfigJson::kLargestSize)
    return Fail(ErrorCode::kInvalidArgument, fmt::format("An MLP width of {} in multiples of {}.", width, multiple));
  const double factor = std::clamp(config.Number("block_ffn_dim_multiplier").value_or(1.0), 0.0, 1024.0);
  const auto scaled = static_cast<int64_t>(factor * static_cast<double>(2 * width / 3));
  spec.intermediate = (scaled + multiple - 1) / multiple * multiple;
  return {};
}

}  // namespace

Result<std::vector<std::string>> ReadLayerTypes(const ConfigJson& config, int64_t layer_count) {
  for (const char* key : {"layer_types", "layers_block_type"}) {
    if (!config.Has(key)) continue;
    std::vector<std::string> types = config.Texts(key);
    if (static_cast<int64_t>(types.size()) == layer_count) return types;
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("\"{}\" names {} layers, and there are {}.", key, types.size(), layer_count));
  }
  return std::vector<std::string>{};
}

Result<DecoderSpec> ReadMambaDecoder(const ConfigJson& config, const std::string& model_type) {
  DecoderSpec spec;
  spec.model_type = model_type;
  MEMSTRATA_ASSIGN_OR_RETURN(spec.layer_count, config.Layers({"num_hidden_layers", "n_layer"}));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.hidden, config.RequiredIntegerOf({"hidden_size", "d_model"}));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.vocabulary, config.RequiredInteger("vocab_size"));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.state_space, ReadStateSpace(config, model_type, spec.hidden));
  spec.embedding_width = spec.hidden;
  spec.intermediate = spec.state_space.inner;
  spec.heads = std::max<int64_t>(1, spec.state_space.heads);
  spec.kv_heads = 0;
  spec.has_single_blocks = true;
  spec.mixers = AllLayers(spec, MixerKind::kStateSpace);
  spec.ties_head = config.Flag("tie_word_embeddings", model_type == "mamba");
  return spec;
}

Status ReadMixers(const ConfigJson& config, DecoderSpec& spec) {
  const std::string& type = spec.model_type;
  if (type == "jamba" || type == "bamba" || type == "nemotron_h" || type == "granitemoehybrid" || type == "falcon_h1") {
    MEMSTRATA_TRY(ReadStateSpaceHybrid(config, spec));
    if (type == "bamba") spec.rotary_dim = spec.head_dim / 2;
    if (type == "jamba" || type == "nemotron_h") spec.rotary_dim = 0;
    return {};
  }
  MEMSTRATA_ASSIGN_OR_RETURN(spec.recurrence, ReadRecurrence(config, type, spec.hidden, spec.heads));
  if (spec.recurrence.kind == RecurrenceSpec::Kind::kNone) return {};
  spec.gates_attention = spec.recurrence.kind == RecurrenceSpec::Kind::kGatedDelta;
  if (type == "lfm2") MEMSTRATA_TRY(AdjustWidth(config, spec));
  return ReadRecurrentHybrid(config, spec);
}

}  // namespace memstrata::plan
