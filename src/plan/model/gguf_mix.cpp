#include "plan/model/gguf_mix.h"

#include <algorithm>

namespace memstrata::plan {
namespace {

struct Mix {
  WeightFormat format;
  std::string_view usual;  // of most matrices
  std::string_view table;  // of the table of tokens
  std::string_view head;   // of the output; also of a table that is the output, too
  std::string_view attention_output;
  std::string_view mixtral_output;  // the same beside eight experts
  std::string_view fused;           // of one matrix of queries, keys and values
  double llama_8b_bits;             // a weight of Llama 3.1 8B
};

constexpr Mix kMixes[] = {
    {WeightFormat::kQ2K, "Q2_K", "Q2_K", "Q6_K", "Q3_K", "Q5_K", "Q2_K", 3.159},
    {WeightFormat::kQ3KS, "Q3_K", "Q3_K", "Q6_K", "Q3_K", "Q5_K", "Q3_K", 3.643},
    {WeightFormat::kQ3KM, "Q3_K", "Q3_K", "Q6_K", "Q4_K", "Q5_K", "Q4_K", 3.996},
    {WeightFormat::kQ3KL, "Q3_K", "Q3_K", "Q6_K", "Q5_K", "Q3_K", "Q4_K", 4.298},
    {WeightFormat::kQ4_0, "Q4_0", "Q4_0", "Q6_K", "Q4_0", "Q4_0", "Q4_0", 4.636},
    {WeightFormat::kQ4KS, "Q4_K", "Q4_K", "Q6_K", "Q4_K", "Q5_K", "Q4_K", 4.667},
    {WeightFormat::kQ4KM, "Q4_K", "Q4_K", "Q6_K", "Q4_K", "Q5_K", "Q5_K", 4.894},
    {WeightFormat::kQ5_0, "Q5_0", "Q5_0", "Q6_K", "Q5_0", "Q5_0", "Q5_0", 5.570},
    {WeightFormat::kQ5KS, "Q5_K", "Q5_K", "Q6_K", "Q5_K", "Q5_K", "Q5_K", 5.570},
    {WeightFormat::kQ5KM, "Q5_K", "Q5_K", "Q6_K", "Q5_K", "Q5_K", "Q6_K", 5.704},
    {WeightFormat::kQ6K, "Q6_K", "Q6_K", "Q6_K", "Q6_K", "Q6_K", "Q6_K", 6.563},
    {WeightFormat::kQ8_0, "Q8_0", "Q8_0", "Q8_0", "Q8_0", "Q8_0", "Q8_0", 8.501},
    {WeightFormat::kIq1S, "IQ1_S", "Q2_K", "Q5_K", "IQ2_XXS", "Q5_K", "IQ1_S", 2.004},
    {WeightFormat::kIq2Xxs, "IQ2_XXS", "Q2_K", "Q5_K", "IQ2_XXS", "Q5_K", "IQ2_XXS", 2.382},
    {WeightFormat::kIq2M, "IQ2_S", "IQ3_S", "Q5_K", "IQ3_S", "Q5_K", "IQ2_S", 2.929},
    {WeightFormat::kIq3M, "IQ3_S", "IQ3_S", "Q6_K", "Q4_K", "Q5_K", "Q4_K", 3.763},
    {WeightFormat::kIq4Xs, "IQ4_XS", "IQ4_XS", "Q6_K", "IQ4_XS", "Q5_K", "IQ4_XS", 4.460},
};

const Mix* FindMix(WeightFormat format) {
  const auto* found =
      std::find_if(std::begin(kMixes), std::end(kMixes), [format](const Mix& mix) { return mix.format == format; });
  return found == std::end(kMixes) ? nullptr : found;
}

// Layers whose sensitive tensors the medium mixes keep better: the first and last eighth, and each third between.
bool KeepsMore(int64_t layer, int64_t count) {
  return layer < count / 8 || layer >= 7 * count / 8 || (layer - count / 8) % 3 == 2;
}

constexpr int64_t kMixtralExperts = 8;  // for which the quantizer has rules of its own
constexpr int64_t kFewGroups = 4;       // from so many heads to a key on, keys and values are small enough to keep well

bool IsBelowThreeBits(WeightFormat format) {
  return format == WeightFormat::kIq1S || format == WeightFormat::kIq2Xxs || format == WeightFormat::kIq2M;
}

std::string_view ValueType(const Mix& mix, int64_t layer, const GgufMixModel& model) {
  const bool is_grouped = model.query_groups >= kFewGroups;
  std::string_view type = mix.usual;
  switch (mix.format) {
    case WeightFormat::kQ2K:
      type = is_grouped ? "Q4_K" : "Q3_K";
      break;
    case WeightFormat::kQ3KM:
      type = layer < 2 ? "Q5_K" : "Q4_K";
      break;
    case WeightFormat::kQ3KL:
      type = "Q5_K";
      break;
    case WeightFormat::kQ4KS:
      if (layer < 4) type = "Q5_K";
      break;
    case WeightFormat::kQ4KM:
    case WeightFormat::kQ5KM:
      if (KeepsMore(layer, model.layers)) type = "Q6_K";
      break;
    case WeightFormat::kIq1S:
    case WeightFormat::kIq2Xxs:
    case WeightFormat::kIq2M:
      type = is_grouped || model.experts >= 4 ? "Q4_K" : mix.table;
      break;
    case WeightFormat::kIq3M:
      type = "Q4_K";
      break;
    case WeightFormat::kIq4Xs:
      if (is_grouped) type = "Q5_K";
      break;
    default:
      break;
  }
  if (model.is_llama_70b && (type == "Q3_K" || type == "Q4_K")) type = "Q5_K";
  return model.experts == kMixtralExperts ? "Q8_0" : type;
}

std::string_view DownType(const Mix& mix, int64_t layer, const GgufMixModel& model) {
  const bool is_first_eighth = layer < model.layers / 8;
  switch (mix.format) {
    case WeightFormat::kQ2K:
      return "Q3_K";
    case WeightFormat::kQ3KM:
      return layer < model.layers / 16 ? "Q5_K" : "Q4_K";
    case WeightFormat::kQ3KL:
      return "Q5_K";
    case WeightFormat::kQ4KM:
    case WeightFormat::kQ5KM:
      return KeepsMore(layer, model.layers) ? "Q6_K" : mix.usual;
    case WeightFormat::kQ4KS:
    case WeightFormat::kIq4Xs:
      return is_first_eighth ? "Q5_K" : mix.usual;
    case WeightFormat::kIq1S:
    case WeightFormat::kIq2Xxs:
    case WeightFormat::kIq2M:
      return is_first_eighth ? mix.table : mix.usual;
    case WeightFormat::kIq3M: {
      const bool is_kept = model.experts == kMixtralExperts && KeepsMore(layer, model.layers);
      return is_first_eighth || is_kept ? "Q4_K" : mix.usual;
    }
    default:
      return mix.usual;
  }
}

bool IsMatrix(const ParameterSpec& parameter) {
  return IsLinearMatrix(parameter) || IsExpertMatrix(parameter) || parameter.role == Role::kEmbedding ||
         (parameter.role == Role::kHead && parameter.shape.size() == 2);
}

std::string_view TypeOf(const ParameterSpec& parameter, const Mix& mix, const GgufMixModel& model) {
  if (parameter.role == Role::kEmbedding) return model.ties_head ? mix.head : mix.table;
  if (parameter.role == Role::kHead) return mix.head;
  const std::string_view name = parameter.name;
  if (name.ends_with(".v_proj.weight")) return ValueType(mix, parameter.layer, model);
  if (name.ends_with(".o_proj.weight"))
    return model.experts == kMixtralExperts ? mix.mixtral_output : mix.attention_output;
  if (name.ends_with(".qkv_proj.weight")) return mix.fused;
  if (name.ends_with("down_proj.weight") || name.ends_with("experts.down"))
    return DownType(mix, parameter.layer, model);
  if (name.ends_with(".k_proj.weight") && model.experts == kMixtralExperts)
    return IsBelowThreeBits(mix.format) ? "Q4_K" : "Q8_0";
  return mix.usual;
}

// For rows of other lengths than whole blocks.
std::string_view FallbackOf(std::string_view type) {
  if (type == "Q4_K") return "Q5_0";
  if (type == "Q5_K") return "Q5_1";
  if (type == "Q6_K") return "Q8_0";
  return "IQ4_NL";
}

}  // namespace

GgufMixModel MixModelOf(const DecoderSpec* decoder) {
  if (decoder == nullptr) return {};
  constexpr int64_t kLayersOf70b = 80;
  GgufMixModel model;
  model.layers = decoder->layer_count;
  model.query_groups = decoder->heads / std::max<int64_t>(1, decoder->kv_heads);
  model.experts = decoder->experts.count;
  model.ties_head = decoder->ties_head;
  model.is_llama_70b = decoder->layer_count == kLayersOf70b && model.query_groups > 1 && decoder->model_type == "llama";
  return model;
}

double GgufBits(const ParameterSpec& parameter, WeightFormat format, Precision precision, const GgufMixModel& model) {
  constexpr double kFloat32Bits = 32;
  constexpr double kFloat16Bits = 16;
  if (!IsMatrix(parameter)) return kFloat32Bits;
  const Mix* mix = FindMix(format);
  if (mix == nullptr) return 8.0 * static_cast<double>(ParameterBytes(precision));
  if (parameter.name.starts_with("vision.")) return kFloat16Bits;  // a file of its own beside the language model's
  const GgufType* type = FindGgufType(TypeOf(parameter, *mix, model));
  const int64_t row = parameter.shape.back();
  if (type != nullptr && row % type->block_elements != 0) type = FindGgufType(FallbackOf(type->name));
  if (type == nullptr || row % type->block_elements != 0) return kFloat16Bits;
  return 8.0 * type->block_bytes / type->block_elements;
}

double NominalMixBits(WeightFormat format) {
  const Mix* mix = FindMix(format);
  return mix == nullptr ? 16.0 : mix->llama_8b_bits;
}

}  // namespace memstrata::plan
