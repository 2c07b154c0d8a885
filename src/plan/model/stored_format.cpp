#include "plan/model/stored_format.h"

#include <fmt/format.h>

namespace memstrata::plan {
namespace {

constexpr int64_t kGroup = 128;  // of 4-bit integers

// compressed-tensors describes the weights of the first group of layers; the others of a checkpoint are the same.
std::optional<ConfigJson> CompressedWeights(const ConfigJson& quantization) {
  const std::optional<ConfigJson> groups = quantization.Object("config_groups");
  const std::optional<ConfigJson> group = groups ? groups->Object("group_0") : std::nullopt;
  return group ? group->Object("weights") : std::nullopt;
}

std::optional<WeightFormat> OfCompressedTensors(const ConfigJson& quantization) {
  const std::optional<ConfigJson> weights = CompressedWeights(quantization);
  if (!weights) return std::nullopt;
  const double bits = weights->Number("num_bits").value_or(0);
  const bool is_float = weights->Text("type") == "float";
  if (bits == 8) return is_float ? WeightFormat::kFp8 : WeightFormat::kInt8;
  if (bits != 4) return std::nullopt;
  return is_float ? WeightFormat::kNvfp4 : WeightFormat::kInt4Group128;
}

std::optional<WeightFormat> Of(const ConfigJson& quantization, std::string_view method) {
  const double bits = quantization.Number("bits").value_or(4);
  if (method == "fp8" || method == "fbgemm_fp8") return WeightFormat::kFp8;
  if (method == "mxfp4") return WeightFormat::kMxfp4;
  if ((method == "gptq" || method == "awq") && bits == 4) return WeightFormat::kInt4Group128;
  if (method == "gptq" && bits == 8) return WeightFormat::kInt8;
  if (method == "compressed-tensors") return OfCompressedTensors(quantization);
  if (method == "modelopt") {
    const std::string algorithm = quantization.Text("quant_algo").value_or("");
    if (algorithm == "FP8") return WeightFormat::kFp8;
    if (algorithm == "NVFP4") return WeightFormat::kNvfp4;
  }
  if (method == "bitsandbytes") {
    if (quantization.Flag("load_in_8bit", false)) return WeightFormat::kInt8;
    if (!quantization.Flag("load_in_4bit", false)) return std::nullopt;
    return quantization.Flag("bnb_4bit_use_double_quant", false) ? WeightFormat::kNf4Double : WeightFormat::kNf4;
  }
  return std::nullopt;
}

// One scale for a whole row is 0 or less in these formats.
std::string NoteOnGroups(const ConfigJson& quantization) {
  const std::optional<ConfigJson> weights = CompressedWeights(quantization);
  const double size = (weights ? *weights : quantization).Number("group_size").value_or(kGroup);
  if (size == kGroup) return "";
  constexpr double kScaleBits = 20;  // a scale and a zero point
  const double bits = size > 0 ? kScaleBits / size - kScaleBits / kGroup : -kScaleBits / kGroup;
  return fmt::format(
      "The weights have one scale for {}; they are planned with one for each {}, which is {:.2f} bits a weight {}.",
      size > 0 ? fmt::format("each {:.0f}", size) : "a whole row", kGroup, bits > 0 ? bits : -bits,
      bits > 0 ? "too few" : "too many");
}

}  // namespace

std::optional<WeightFormat> ReadStoredFormat(const ConfigJson& config, std::vector<std::string>& notes) {
  const std::optional<ConfigJson> quantization = config.Object("quantization_config");
  if (!quantization) return std::nullopt;
  const std::string method = quantization->Text("quant_method").value_or("");
  const std::optional<WeightFormat> format = Of(*quantization, method);
  if (!format) {
    notes.push_back(fmt::format("The weights are quantised by \"{}\" in a form that is not known; give --weights.",
                                method.empty() ? "without a name" : method));
  }
  if (format == WeightFormat::kInt4Group128) {
    if (std::string note = NoteOnGroups(*quantization); !note.empty()) notes.push_back(std::move(note));
  }
  return format;
}

}  // namespace memstrata::plan
