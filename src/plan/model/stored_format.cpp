#include "plan/model/stored_format.h"

#include <fmt/format.h>

namespace memstrata::plan {
namespace {

// compressed-tensors describes the weights of the first group of layers; the others of a checkpoint are the same.
std::optional<WeightFormat> OfCompressedTensors(const ConfigJson& quantization) {
  const std::optional<ConfigJson> groups = quantization.Object("config_groups");
  const std::optional<ConfigJson> group = groups ? groups->Object("group_0") : std::nullopt;
  const std::optional<ConfigJson> weights = group ? group->Object("weights") : std::nullopt;
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

}  // namespace

std::optional<WeightFormat> ReadStoredFormat(const ConfigJson& config, std::string& unknown) {
  const std::optional<ConfigJson> quantization = config.Object("quantization_config");
  if (!quantization) return std::nullopt;
  const std::string method = quantization->Text("quant_method").value_or("");
  const std::optional<WeightFormat> format = Of(*quantization, method);
  if (!format) unknown = method.empty() ? "without a name" : method;
  return format;
}

}  // namespace memstrata::plan
