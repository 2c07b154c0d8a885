// Routed experts: the many names of the same few numbers.

#include <fmt/format.h>

#include <algorithm>

#include "plan/model/decoder_readers.h"

namespace memstrata::plan {
namespace {

bool IsOneOf(const std::string& type, std::initializer_list<std::string_view> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

// Which layers have experts.
Status ReadPlaces(const ConfigJson& config, DecoderSpec& spec) {
  ExpertSpec& experts = spec.experts;
  const std::string& type = spec.model_type;
  MEMSTRATA_ASSIGN_OR_RETURN(experts.first_dense_layers,
                             config.IntegerOf({"first_k_dense_replace", "moe_layer_start_index", "num_dense_layers"},
                                              type == "ernie4_5_moe" ? 1
                                              : type == "lfm2_moe"   ? 2
                                                                     : 0));
  MEMSTRATA_ASSIGN_OR_RETURN(experts.every,
                             config.IntegerOf({"decoder_sparse_step", "moe_layer_freq", "moe_layer_interval"}, 1));
  if (type == "ernie4_5_moe") {
    MEMSTRATA_ASSIGN_OR_RETURN(const int64_t last, config.Integer("moe_layer_end_index", spec.layer_count - 1));
    experts.end_layer = last + 1;
  }
  if (type == "jamba") {
    MEMSTRATA_ASSIGN_OR_RETURN(experts.every, config.Integer("expert_layer_period", 2));
    MEMSTRATA_ASSIGN_OR_RETURN(experts.offset, config.Integer("expert_layer_offset", 1));
  }
  if (type == "llama4_text") {
    MEMSTRATA_ASSIGN_OR_RETURN(experts.every, config.Integer("interleave_moe_layer_step", 1));
  }
  if (experts.every == 0) experts.every = 1;
  experts.dense_layers = config.Integers("mlp_only_layers");
  if (type == "llama4_text" && !config.Integers("moe_layers").empty()) {
    const std::vector<int64_t> sparse = config.Integers("moe_layers");
    experts.every = 1;
    for (int64_t i = 0; i < spec.layer_count; ++i) {
      if (std::find(sparse.begin(), sparse.end(), i) == sparse.end()) experts.dense_layers.push_back(i);
    }
  }
  return {};
}

// The MLP that all tokens pass beside the experts.
Status ReadShared(const ConfigJson& config, DecoderSpec& spec) {
  ExpertSpec& experts = spec.experts;
  const std::string& type = spec.model_type;
  // Llama 4 and Hunyuan have one shared MLP of an expert's width without saying so.
  const int64_t usual = type == "llama4_text" || type == "hunyuan_v1_moe" ? 1 : 0;
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t count,
                             config.IntegerOf({"n_shared_experts", "moe_num_shared_experts"}, usual));
  if (count > ConfigJson::kLargestSize || experts.intermediate > ConfigJson::kLargestSize)
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{} shared experts of width {}.", count, experts.intermediate));
  MEMSTRATA_ASSIGN_OR_RETURN(
      experts.shared_intermediate,
      config.IntegerOf({"shared_expert_intermediate_size", "shared_intermediate_size"}, count * experts.intermediate));
  return {};
}

}  // namespace

Status ReadExperts(const ConfigJson& config, DecoderSpec& spec) {
  ExpertSpec& experts = spec.experts;
  const std::string& type = spec.model_type;
  MEMSTRATA_ASSIGN_OR_RETURN(
      experts.count, config.IntegerOf({"num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts"}, 0));
  if (experts.count == 0) {
    // Granite's hybrids without experts keep the shared MLP alone.
    if (type == "granitemoehybrid") {
      MEMSTRATA_ASSIGN_OR_RETURN(spec.intermediate, config.Integer("shared_intermediate_size", spec.intermediate));
    }
    return {};
  }
  MEMSTRATA_ASSIGN_OR_RETURN(experts.per_token, config.IntegerOf({"num_experts_per_tok", "experts_per_token", "moe_k",
                                                                  "moe_top_k", "moe_topk"},
                                                                 type == "llama4_text" ? 1 : 2));
  MEMSTRATA_ASSIGN_OR_RETURN(experts.intermediate, config.Integer("moe_intermediate_size", spec.intermediate));
  if (experts.per_token == 0 || experts.per_token > experts.count) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{} experts per token cannot be chosen from {}.", experts.per_token, experts.count));
  }
  MEMSTRATA_TRY(ReadPlaces(config, spec));
  MEMSTRATA_TRY(ReadShared(config, spec));
  if (type == "llama4_text") {  // its dense layers are wider than its experts
    MEMSTRATA_ASSIGN_OR_RETURN(spec.intermediate, config.Integer("intermediate_size_mlp", 16384));
  }
  experts.has_shared_gate = IsOneOf(type, {"qwen2_moe", "qwen3_next", "qwen3_5_moe_text"});
  experts.has_score_bias =
      IsOneOf(type, {"deepseek_v3", "glm4_moe", "kimi_k2", "ernie4_5_moe", "minimax_m2", "dots1"}) ||
      (type == "lfm2_moe" && config.Flag("use_expert_bias", true));
  experts.has_bias = type == "gpt_oss";
  return {};
}

Status ReadDbrx(const ConfigJson& config, DecoderSpec& spec) {
  const std::optional<ConfigJson> experts = config.Object("ffn_config");
  const std::optional<ConfigJson> attention = config.Object("attn_config");
  if (!experts || !attention)
    return Fail(ErrorCode::kInvalidArgument, "A DBRX configuration needs \"ffn_config\" and \"attn_config\".");
  MEMSTRATA_ASSIGN_OR_RETURN(spec.kv_heads, attention->Integer("kv_n_heads", 1));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.intermediate, experts->RequiredInteger("ffn_hidden_size"));
  return ReadExperts(*experts, spec);
}

}  // namespace memstrata::plan
