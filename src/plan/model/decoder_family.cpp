#include "plan/model/decoder_family.h"

#include <algorithm>

namespace memstrata::plan {
namespace {

using Kind = WindowRule::Kind;

constexpr Biases kNoBiases{kNever, kNever, kNever};
constexpr Biases kAllBiases{kAlways, kAlways, kAlways};
constexpr Biases kQwenBiases{.qkv = kAlways, .out = kNever};
constexpr Biases kUseBias{{"use_bias"}, {"use_bias"}, {"use_bias"}};
constexpr Switch kTied{"tie_word_embeddings", true};
constexpr Switch kAttentionBias{"attention_bias", true};
constexpr WindowRule kAllLayers{Kind::kAll};
constexpr WindowRule kQwenWindow{Kind::kFromLayer, 0, 28};

constexpr DecoderFamily kFamilies[] = {
    // Those whose step is simulated operation by operation.
    {.type = "llama", .is_simulated = true},
    {.type = "mistral", .is_simulated = true, .window = {Kind::kAll, 4096}},
    {.type = "qwen2", .is_simulated = true, .biases = kQwenBiases, .window = kQwenWindow},
    {.type = "qwen3", .is_simulated = true, .qk_norm = QkNorm::kHead, .window = kQwenWindow},
    {.type = "gemma",
     .is_simulated = true,
     .norm = NormKind::kRmsPlusOne,
     .ties_head = kTied,
     .usual_activation = "gelu_pytorch_tanh",
     .scales_embedding = true},
    {.type = "gemma2",
     .is_simulated = true,
     .norm = NormKind::kRmsPlusOne,
     .norm_place = NormPlace::kBoth,
     .ties_head = kTied,
     .usual_activation = "gelu_pytorch_tanh",
     .scales_embedding = true,
     .window = {Kind::kPeriod, 4096, 2},
     .special = ApplyGemma2},
    {.type = "gpt2",
     .is_simulated = true,
     .norm = NormKind::kLayer,
     .norm_has_bias = true,
     .position = PositionKind::kLearned,
     .biases = kAllBiases,
     .ties_head = kTied,
     .usual_activation = "gelu_new",
     .qkv = QkvLayout::kFusedSplit,
     .is_gated = false,
     .usual_width = 4,
     .special = ApplyGpt2},
    {.type = "phi",
     .is_simulated = true,
     .norm = NormKind::kLayer,
     .norm_has_bias = true,
     .is_parallel = true,
     .biases = kAllBiases,
     .head_bias = kAlways,
     .usual_activation = "gelu_new",
     .is_gated = false,
     .special = ApplyPhi},
    {.type = "gpt_neox",
     .is_simulated = true,
     .norm = NormKind::kLayer,
     .norm_has_bias = true,
     .biases = {.qkv = kAttentionBias, .out = kAttentionBias, .mlp = kAlways},
     .usual_activation = "gelu",
     .qkv = QkvLayout::kFusedChunk,
     .is_gated = false,
     .special = ApplyGptNeox},
    {.type = "opt",
     .is_simulated = true,
     .norm = NormKind::kLayer,
     .norm_has_bias = true,
     .position = PositionKind::kLearned,
     .biases = {.qkv = {"enable_bias", true}, .out = {"enable_bias", true}, .mlp = {"enable_bias", true}},
     .ties_head = kTied,
     .usual_activation = "relu",
     .is_gated = false,
     .special = ApplyOpt},
    {.type = "phi3",
     .is_simulated = true,
     .biases = kNoBiases,
     .qkv = QkvLayout::kFusedSlices,
     .fuses_gate_up = true,
     .window = kAllLayers,
     .special = ApplyPhi3},
    {.type = "starcoder2",
     .is_simulated = true,
     .norm = NormKind::kLayer,
     .norm_has_bias = true,
     .biases = {.qkv = {"use_bias", true}, .out = {"use_bias", true}, .mlp = {"use_bias", true}},
     .ties_head = kTied,
     .usual_activation = "gelu_pytorch_tanh",
     .is_gated = false,
     .window = kAllLayers,
     .special = ApplyStarcoder2},
    {.type = "stablelm",
     .is_simulated = true,
     .norm = NormKind::kLayer,
     .norm_has_bias = true,
     .biases = {.qkv = {"use_qkv_bias"}, .out = kNever, .mlp = kNever},
     .special = ApplyStablelm},

    // Llama's layers, with what is named.
    {.type = "ministral", .window = {Kind::kAll, 4096}},
    {.type = "granite", .is_simulated = true, .scales_embedding = true, .scales_residual = true, .scales_logits = true},
    {.type = "smollm3", .is_simulated = true, .ties_head = kTied, .special = ApplySmollm3},
    {.type = "internlm2", .biases = {.qkv = {"bias"}, .out = {"bias"}}},
    {.type = "internlm3", .biases = {.qkv = {"qkv_bias"}, .out = {"bias"}, .mlp = {"bias"}}},
    {.type = "baichuan"},
    {.type = "seed_oss", .biases = {.qkv = kAttentionBias, .out = {"attention_out_bias"}}},
    {.type = "ernie4_5", .biases = kUseBias, .ties_head = kTied},
    {.type = "hunyuan_v1_dense", .qk_norm = QkNorm::kHead},
    {.type = "helium"},
    {.type = "arcee", .is_gated = false},
    {.type = "olmo", .norm_has_weight = false},
    {.type = "olmo2",
     .is_simulated = true,
     .norm = NormKind::kRmsWide,
     .norm_place = NormPlace::kAfter,
     .qk_norm = QkNorm::kWide},
    {.type = "olmo3",
     .norm = NormKind::kRmsWide,
     .norm_place = NormPlace::kAfter,
     .qk_norm = QkNorm::kWide,
     .window = {Kind::kPeriod, 4096, 4}},
    {.type = "exaone4", .norm_place = NormPlace::kAfter, .qk_norm = QkNorm::kHead, .window = {Kind::kPeriod, 4096, 4}},
    {.type = "gemma3_text",
     .is_simulated = true,
     .norm = NormKind::kRmsPlusOne,
     .norm_place = NormPlace::kBoth,
     .qk_norm = QkNorm::kHead,
     .ties_head = kTied,
     .usual_activation = "gelu_pytorch_tanh",
     .scales_embedding = true,
     .window = {Kind::kPeriod, 4096, 6},
     .special = ApplyGemma3},
    {.type = "cohere",
     .norm = NormKind::kLayer,
     .is_parallel = true,
     .qk_norm = QkNorm::kWide,
     .has_qk_norm = {"use_qk_norm"},
     .ties_head = kTied},
    {.type = "cohere2",
     .norm = NormKind::kLayer,
     .is_parallel = true,
     .ties_head = kTied,
     .window = {Kind::kPeriod, 4096, 4}},
    {.type = "nemotron", .norm = NormKind::kLayer, .norm_has_bias = true, .is_gated = false},
    {.type = "glm", .biases = {.qkv = kAttentionBias, .out = kNever, .mlp = kNever}, .fuses_gate_up = true},
    {.type = "glm4",
     .norm_place = NormPlace::kBoth,
     .biases = {.qkv = kAttentionBias, .out = kNever, .mlp = kNever},
     .fuses_gate_up = true},
    {.type = "chatglm",
     .biases = {.qkv = {"add_qkv_bias"}, .out = {"add_bias_linear"}, .mlp = {"add_bias_linear"}},
     .qkv = QkvLayout::kFusedSlices,
     .fuses_gate_up = true},
    {.type = "qwen",
     .biases = {.qkv = kAlways, .out = kNever, .mlp = kNever},
     .qkv = QkvLayout::kFusedSlices,
     .special = ApplyQwen1},
    {.type = "mllama_text_model", .special = ApplyMllama},
    {.type = "qwen2_vl_text", .biases = kQwenBiases, .window = kQwenWindow},
    {.type = "qwen2_5_vl_text", .biases = kQwenBiases, .window = kQwenWindow},
    {.type = "qwen3_vl_text", .qk_norm = QkNorm::kHead},

    // The GPT kind: LayerNorm, biases, no gate.
    {.type = "falcon",
     .norm = NormKind::kLayer,
     .norm_has_bias = true,
     .biases = {.qkv = {"bias"}, .out = {"bias"}, .mlp = {"bias"}},
     .ties_head = kTied,
     .is_gated = false,
     .usual_width = 4,
     .special = ApplyFalcon},
    {.type = "gptj",
     .norm = NormKind::kLayer,
     .norm_has_bias = true,
     .is_parallel = true,
     .biases = {.qkv = kNever, .out = kNever, .mlp = kAlways},
     .head_bias = kAlways,
     .usual_activation = "gelu_new",
     .is_gated = false,
     .usual_width = 4},
    {.type = "codegen",
     .norm = NormKind::kLayer,
     .norm_has_bias = true,
     .is_parallel = true,
     .biases = {.qkv = kNever, .out = kNever, .mlp = kAlways},
     .head_bias = kAlways,
     .usual_activation = "gelu_new",
     .is_gated = false,
     .usual_width = 4},
    {.type = "gpt_neo",
     .norm = NormKind::kLayer,
     .norm_has_bias = true,
     .position = PositionKind::kLearned,
     .biases = {.qkv = kNever, .out = kAlways, .mlp = kAlways},
     .ties_head = kTied,
     .usual_activation = "gelu_new",
     .is_gated = false,
     .usual_width = 4},
    {.type = "gpt_bigcode",
     .norm = NormKind::kLayer,
     .norm_has_bias = true,
     .position = PositionKind::kLearned,
     .biases = kAllBiases,
     .ties_head = kTied,
     .usual_activation = "gelu_pytorch_tanh",
     .qkv = QkvLayout::kFusedSlices,
     .is_gated = false,
     .usual_width = 4,
     .special = ApplyGptBigcode},
    {.type = "bloom",
     .norm = NormKind::kLayer,
     .norm_has_bias = true,
     .position = PositionKind::kNone,
     .biases = kAllBiases,
     .ties_head = kTied,
     .qkv = QkvLayout::kFusedChunk,
     .is_gated = false,
     .norms_embedding = true,
     .usual_width = 4},
    {.type = "mpt",
     .norm = NormKind::kLayer,
     .position = PositionKind::kNone,
     .biases = kNoBiases,
     .ties_head = kTied,
     .qkv = QkvLayout::kFusedSlices,
     .is_gated = false,
     .usual_width = 4},

    // Routed experts; how many and where is in decoder_experts.cpp.
    {.type = "mixtral", .window = kAllLayers},
    {.type = "qwen2_moe", .biases = {.qkv = {"qkv_bias", true}, .out = kNever}, .window = kQwenWindow},
    {.type = "qwen3_moe", .qk_norm = QkNorm::kHead, .window = kQwenWindow},
    {.type = "qwen3_vl_moe_text", .qk_norm = QkNorm::kHead},
    {.type = "deepseek"},
    {.type = "deepseek_v2"},
    {.type = "deepseek_v3"},
    {.type = "kimi_k2"},
    {.type = "olmoe", .qk_norm = QkNorm::kWide},
    {.type = "flex_olmo", .norm_place = NormPlace::kAfter, .qk_norm = QkNorm::kWide},
    {.type = "glm4_moe", .qk_norm = QkNorm::kHead, .has_qk_norm = {"use_qk_norm"}, .biases = {.out = kNever}},
    {.type = "gpt_oss",
     .biases = {.qkv = kAttentionBias, .out = kAttentionBias},
     .window = {Kind::kPeriod, 128, 2},
     .special = ApplyGptOss},
    {.type = "minimax_m2", .qk_norm = QkNorm::kWide, .has_qk_norm = {"use_qk_norm", true}},
    {.type = "phimoe",
     .norm = NormKind::kLayer,
     .norm_has_bias = true,
     .head_bias = {"lm_head_bias"},
     .window = kAllLayers},
    {.type = "ernie4_5_moe", .biases = kUseBias, .ties_head = kTied},
    {.type = "llama4_text", .window = {Kind::kChunked, 8192, 4}},
    {.type = "dbrx", .norm = NormKind::kLayer, .biases = kNoBiases, .qkv = QkvLayout::kFusedSlices},
    {.type = "granitemoe"},
    {.type = "granitemoeshared"},
    {.type = "hunyuan_v1_moe", .qk_norm = QkNorm::kHead},
    {.type = "dots1", .qk_norm = QkNorm::kHead, .window = {Kind::kFromLayer, 4096, 62}},

    // Hybrids; which layer is what is in decoder_mixers.cpp.
    {.type = "jamba"},
    {.type = "bamba"},
    {.type = "nemotron_h", .is_gated = false},
    {.type = "granitemoehybrid"},
    {.type = "falcon_h1"},
    {.type = "qwen3_next", .qk_norm = QkNorm::kHead},
    {.type = "lfm2", .qk_norm = QkNorm::kHead, .biases = {.qkv = kNever, .out = kNever}, .ties_head = kTied},
    {.type = "lfm2_moe", .qk_norm = QkNorm::kHead, .biases = {.qkv = kNever, .out = kNever}, .ties_head = kTied},
    {.type = "recurrent_gemma",
     .norm = NormKind::kRmsPlusOne,
     .biases = {.out = kAlways, .mlp = kAlways},
     .ties_head = kTied,
     .scales_embedding = true},
};

}  // namespace

const DecoderFamily* FindDecoderFamily(std::string_view type) {
  const auto* found =
      std::find_if(std::begin(kFamilies), std::end(kFamilies), [&](const auto& row) { return row.type == type; });
  return found == std::end(kFamilies) ? nullptr : found;
}

void ApplySwitches(const DecoderFamily& family, const ConfigJson& config, DecoderSpec& spec) {
  spec.norm = family.norm;
  spec.norm_has_bias = family.norm_has_bias;
  spec.norm_has_weight = family.norm_has_weight;
  spec.norms_inputs = family.norm_place != NormPlace::kAfter;
  spec.norms_outputs = family.norm_place != NormPlace::kBefore;
  spec.parallel_residual = spec.shares_norm = family.is_parallel;
  spec.qk_norm = family.qk_norm != QkNorm::kNone && family.has_qk_norm.Read(config);
  spec.qk_norm_is_wide = family.qk_norm == QkNorm::kWide;
  spec.qkv_bias = family.biases.qkv.Read(config);
  spec.out_bias = family.biases.out.Read(config);
  spec.mlp_bias = family.biases.mlp.Read(config);
  spec.head_bias = family.head_bias.Read(config);
  spec.ties_head = family.ties_head.Read(config);
  spec.qkv = family.qkv;
  spec.is_gated = family.is_gated;
  spec.fuses_gate_up = family.fuses_gate_up;
  spec.scales_embedding = family.scales_embedding;
  spec.norms_embedding = family.norms_embedding;
  spec.scales_residual = family.scales_residual;
  spec.scales_logits = family.scales_logits;
  const std::string named =
      config.Text("hidden_act")
          .value_or(config.Text("activation_function").value_or(std::string(family.usual_activation)));
  spec.activation = ActivationOf(config.Text("hidden_activation").value_or(named));
  if (family.position != PositionKind::kRotary) spec.rotary_dim = 0;
}

}  // namespace memstrata::plan
