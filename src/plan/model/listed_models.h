#pragma once
// Models that no common description expresses: encoder-decoders of BART's kind and Whisper, text encoders beside BERT,
// image encoders beside ViT, and decoders that share or replace their layers (Zamba2, RWKV). Each reader lists the
// tensors and, where the class's code is known operation by operation, describes the step.

#include <string_view>

#include "base/result.h"
#include "plan/model/config_json.h"
#include "plan/model/model_description.h"
#include "plan/model/parameter_builder.h"

namespace memstrata::plan {

/// Fills a description (tensors, cache, sizes) from a configuration.
using ListedModelReader = Status (*)(const ConfigJson& config, ModelDescription& model);

/// The reader of `model_type`; nothing for a type that is not listed.
ListedModelReader FindListedModel(std::string_view model_type);

// One for each kind, in a file of its own.
Status ReadBart(const ConfigJson& config, ModelDescription& model);
Status ReadWhisper(const ConfigJson& config, ModelDescription& model);
Status ReadAlbert(const ConfigJson& config, ModelDescription& model);
Status ReadElectra(const ConfigJson& config, ModelDescription& model);
Status ReadModernBert(const ConfigJson& config, ModelDescription& model);
Status ReadDebertaV2(const ConfigJson& config, ModelDescription& model);
Status ReadDinov2(const ConfigJson& config, ModelDescription& model);
Status ReadSwin(const ConfigJson& config, ModelDescription& model);
Status ReadSiglip(const ConfigJson& config, ModelDescription& model);
Status ReadRwkv(const ConfigJson& config, ModelDescription& model);
Status ReadZamba2(const ConfigJson& config, ModelDescription& model);

/// A size of at most ConfigJson::kLargestSize, or a sentence; `otherwise` where the key is absent.
Result<int64_t> ReadSize(const ConfigJson& config, std::string_view key, int64_t otherwise);
/// True when the first of `architectures` ends so ("ForMaskedLM").
bool IsArchitecture(const ConfigJson& config, std::string_view ending);
/// The same, also for a configuration that names none: training needs a head.
bool HasHead(const ConfigJson& config, std::string_view ending);

}  // namespace memstrata::plan
