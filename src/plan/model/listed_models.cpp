#include "plan/model/listed_models.h"

#include <fmt/format.h>

#include <algorithm>

namespace memstrata::plan {
namespace {

struct ListedModel {
  std::string_view type;
  ListedModelReader read;
};

constexpr ListedModel kListedModels[] = {
    {"bart", ReadBart},
    {"mbart", ReadBart},
    {"pegasus", ReadBart},
    {"marian", ReadBart},
    {"m2m_100", ReadBart},
    {"blenderbot", ReadBart},
    {"whisper", ReadWhisper},
    {"albert", ReadAlbert},
    {"electra", ReadElectra},
    {"modernbert", ReadModernBert},
    {"deberta-v2", ReadDebertaV2},
    {"dinov2", ReadDinov2},
    {"swin", ReadSwin},
    {"siglip", ReadSiglip},
    {"rwkv", ReadRwkv},
    {"zamba2", ReadZamba2},
};

}  // namespace

ListedModelReader FindListedModel(std::string_view model_type) {
  const auto* found = std::find_if(std::begin(kListedModels), std::end(kListedModels),
                                   [&](const ListedModel& model) { return model.type == model_type; });
  return found == std::end(kListedModels) ? nullptr : found->read;
}

Result<int64_t> ReadSize(const ConfigJson& config, std::string_view key, int64_t otherwise) {
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t size, config.Integer(key, otherwise));
  if (size <= ConfigJson::kLargestSize) return size;
  return Fail(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is {}; no model has that.", key, size));
}

bool IsArchitecture(const ConfigJson& config, std::string_view ending) {
  const std::vector<std::string> names = config.Texts("architectures");
  return !names.empty() && names.front().ends_with(ending);
}

bool HasHead(const ConfigJson& config, std::string_view ending) {
  return config.Texts("architectures").empty() || IsArchitecture(config, ending);
}

}  // namespace memstrata::plan
