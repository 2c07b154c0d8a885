// Decoders that DecoderSpec does not express: RWKV's time mixing, and Zamba2's attention blocks, which many layers
// share.

#include <fmt/format.h>

#include <algorithm>

#include "plan/model/decoder_readers.h"
#include "plan/model/listed_models.h"
#include "plan/model/state_space.h"

namespace memstrata::plan {
namespace {

void AddRwkvLayer(int64_t layer, int64_t hidden, int64_t width, int64_t intermediate, ParameterBuilder& build) {
  build.set_layer(layer);
  build.set_prefix(fmt::format("layers.{}.", layer));
  if (layer == 0) build.Norm("first_norm", hidden, true);
  build.Norm("mixer_norm", hidden, true);
  build.Norm("mlp_norm", hidden, true);
  for (const char* name : {"mixer.decay", "mixer.first"}) build.Add(name, {width}, Role::kState);
  for (const char* name : {"mixer.mix_key", "mixer.mix_value", "mixer.mix_receptance"})
    build.Add(name, {1, 1, hidden}, Role::kState);
  for (const char* name : {"mixer.key", "mixer.value", "mixer.receptance"})
    build.Linear(name, width, hidden, false, Role::kColumn);
  build.Linear("mixer.output", hidden, width, false, Role::kRow);
  for (const char* name : {"mlp.mix_key", "mlp.mix_receptance"}) build.Add(name, {1, 1, hidden}, Role::kState);
  build.Linear("mlp.key", intermediate, hidden, false, Role::kColumn);
  build.Linear("mlp.receptance", hidden, hidden, false, Role::kReplicatedLinear);
  build.Linear("mlp.value", hidden, intermediate, false, Role::kRow);
}

struct Zamba2Sizes {
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t block_count = 0;
  int64_t adapter_rank = 0;
  bool adapts_attention = false;
  bool has_bias = false;
};

// The layers with attention of the 54-layer model, whose configuration need not list them.
constexpr int64_t kUsualLayers = 54;
constexpr int64_t kUsualHybrids[] = {6, 12, 18, 24, 30, 36, 42, 47, 51};

Result<std::vector<bool>> ReadHybrids(const ConfigJson& config, int64_t layer_count) {
  MEMSTRATA_ASSIGN_OR_RETURN(const std::vector<std::string> types, ReadLayerTypes(config, layer_count));
  std::vector<bool> is_hybrid(static_cast<size_t>(layer_count), false);
  if (types.empty() && layer_count != kUsualLayers) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("A Zamba2 of {} layers needs \"layers_block_type\".", layer_count));
  }
  for (size_t i = 0; i < types.size(); ++i) is_hybrid[i] = types[i] == "hybrid";
  if (types.empty()) {
    for (const int64_t layer : kUsualHybrids) is_hybrid[static_cast<size_t>(layer)] = true;
  }
  return is_hybrid;
}

Result<Zamba2Sizes> ReadZamba2Sizes(const ConfigJson& config) {
  Zamba2Sizes sizes;
  MEMSTRATA_ASSIGN_OR_RETURN(sizes.hidden, config.RequiredInteger("hidden_size"));
  MEMSTRATA_ASSIGN_OR_RETURN(sizes.heads, config.RequiredInteger("num_attention_heads"));
  MEMSTRATA_ASSIGN_OR_RETURN(sizes.kv_heads, config.Integer("num_key_value_heads", sizes.heads));
  if (sizes.hidden > ConfigJson::kLargestSize || 2 * sizes.hidden % sizes.heads != 0 || sizes.kv_heads == 0 ||
      sizes.heads % sizes.kv_heads != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("An attention of width {} cannot be divided among {} heads, {} of keys.",
                            2 * std::min(sizes.hidden, ConfigJson::kLargestSize), sizes.heads, sizes.kv_heads));
  }
  sizes.head_dim = 2 * sizes.hidden / sizes.heads;
  MEMSTRATA_ASSIGN_OR_RETURN(sizes.intermediate, ReadSize(config, "intermediate_size", 4 * sizes.hidden));
  MEMSTRATA_ASSIGN_OR_RETURN(sizes.block_count, ReadSize(config, "num_mem_blocks", 1));
  MEMSTRATA_ASSIGN_OR_RETURN(sizes.adapter_rank, ReadSize(config, "adapter_rank", 128));
  sizes.adapts_attention = config.Flag("use_shared_attention_adapter", false);
  sizes.has_bias = config.Flag("add_bias_linear", false);
  if (sizes.block_count == 0) return Fail(ErrorCode::kInvalidArgument, "\"num_mem_blocks\" is 0; it is 1 or more.");
  return sizes;
}

// A block that several layers share. It reads the hidden state beside the embedding: twice the width.
void AddSharedBlock(const Zamba2Sizes& sizes, int64_t block, ParameterBuilder& build) {
  build.set_prefix(fmt::format("shared.{}.", block));
  const int64_t width = 2 * sizes.hidden;
  build.Linear("q_proj", sizes.heads * sizes.head_dim, width, false, Role::kColumn);
  build.Linear("k_proj", sizes.kv_heads * sizes.head_dim, width, false, Role::kColumn);
  build.Linear("v_proj", sizes.kv_heads * sizes.head_dim, width, false, Role::kColumn);
  build.Linear("o_proj", sizes.hidden, sizes.heads * sizes.head_dim, false, Role::kRow);
  build.Linear("gate_up_proj", 2 * sizes.intermediate, sizes.hidden, sizes.has_bias, Role::kColumn);
  build.Linear("down_proj", sizes.hidden, sizes.intermediate, sizes.has_bias, Role::kRow);
  build.Norm("input_norm", width, false);
  build.Norm("mlp_norm", sizes.hidden, false);
}

// What a layer has of its own around the shared block.
void AddAroundShared(const Zamba2Sizes& sizes, ParameterBuilder& build) {
  const int64_t rank = sizes.adapter_rank;
  build.Linear("joint", sizes.hidden, sizes.hidden, false, Role::kReplicatedLinear);
  build.Linear("mlp_adapter.first", rank, sizes.hidden, false, Role::kReplicatedLinear);
  build.Linear("mlp_adapter.second", 2 * sizes.intermediate, rank, false, Role::kReplicatedLinear);
  if (!sizes.adapts_attention) return;
  for (const char* name : {"q_adapter", "k_adapter", "v_adapter"}) {
    build.Linear(fmt::format("{}.first", name), rank, 2 * sizes.hidden, false, Role::kReplicatedLinear);
    build.Linear(fmt::format("{}.second", name), 2 * sizes.hidden, rank, false, Role::kReplicatedLinear);
  }
}

}  // namespace

Status ReadRwkv(const ConfigJson& config, ModelDescription& model) {
  MEMSTRATA_ASSIGN_OR_RETURN(model.layer_count, config.Layers({"num_hidden_layers"}));
  MEMSTRATA_ASSIGN_OR_RETURN(model.hidden, config.RequiredInteger("hidden_size"));
  MEMSTRATA_ASSIGN_OR_RETURN(model.vocabulary, config.RequiredInteger("vocab_size"));
  if (model.hidden > ConfigJson::kLargestSize)
    return Fail(ErrorCode::kInvalidArgument, fmt::format("A hidden size of {}.", model.hidden));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t width, ReadSize(config, "attention_hidden_size", model.hidden));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t intermediate, ReadSize(config, "intermediate_size", 4 * model.hidden));
  MEMSTRATA_ASSIGN_OR_RETURN(model.max_positions, config.Integer("context_length", 0));
  ParameterBuilder build;
  build.Add("tokens.weight", {model.vocabulary, model.hidden}, Role::kEmbedding);
  for (int64_t layer = 0; layer < model.layer_count; ++layer) {
    AddRwkvLayer(layer, model.hidden, width, intermediate, build);
    // The last inputs of both blocks; a numerator, a denominator and a maximum for each channel.
    model.cache.push_back({CacheLayer::Kind::kState, 0, 0, 0, 0, 2 * model.hidden + 3 * width});
  }
  build.set_layer(model.layer_count);
  build.set_prefix("");
  build.Norm("last_norm", model.hidden, true);
  if (!config.Flag("tie_word_embeddings", false))
    build.Linear("lm_head", model.vocabulary, model.hidden, false, Role::kHead);
  model.parameters = build.Take();
  return {};
}

Status ReadZamba2(const ConfigJson& config, ModelDescription& model) {
  MEMSTRATA_ASSIGN_OR_RETURN(model.layer_count, config.Layers({"num_hidden_layers"}));
  MEMSTRATA_ASSIGN_OR_RETURN(const Zamba2Sizes sizes, ReadZamba2Sizes(config));
  MEMSTRATA_ASSIGN_OR_RETURN(const std::vector<bool> is_hybrid, ReadHybrids(config, model.layer_count));
  MEMSTRATA_ASSIGN_OR_RETURN(const StateSpaceSpec state, ReadStateSpace(config, "zamba2", sizes.hidden));
  MEMSTRATA_ASSIGN_OR_RETURN(model.vocabulary, config.RequiredInteger("vocab_size"));
  MEMSTRATA_ASSIGN_OR_RETURN(model.max_positions, config.Integer("max_position_embeddings", 4096));
  model.hidden = sizes.hidden;
  ParameterBuilder build;
  build.Add("tokens.weight", {model.vocabulary, sizes.hidden}, Role::kEmbedding);
  build.set_layer(0);
  const int64_t hybrids = std::count(is_hybrid.begin(), is_hybrid.end(), true);
  for (int64_t block = 0; block < std::min(sizes.block_count, hybrids); ++block) AddSharedBlock(sizes, block, build);
  for (int64_t layer = 0; layer < model.layer_count; ++layer) {
    build.set_layer(layer);
    build.set_prefix(fmt::format("layers.{}.", layer));
    build.Norm("input_norm", sizes.hidden, false);
    AddStateSpace(state, sizes.hidden, build);
    model.cache.push_back({CacheLayer::Kind::kState, 0, 0, 0, 0, state.StateElements()});
    if (!is_hybrid[static_cast<size_t>(layer)]) continue;
    AddAroundShared(sizes, build);
    model.cache.push_back({CacheLayer::Kind::kFull, sizes.kv_heads, sizes.head_dim, sizes.head_dim, 0, 0});
  }
  build.set_layer(model.layer_count);
  build.set_prefix("");
  build.Norm("last_norm", sizes.hidden, false);
  if (!config.Flag("tie_word_embeddings", true))
    build.Linear("lm_head", model.vocabulary, sizes.hidden, false, Role::kHead);
  model.parameters = build.Take();
  return {};
}

}  // namespace memstrata::plan
