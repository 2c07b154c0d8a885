#pragma once
// Transformer encoders: masked language models (BERT, RoBERTa, DistilBERT), image classifiers (ViT, DeiT) and CLIP's
// pair of towers.

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/model/decoder_spec.h"

namespace memstrata::plan {

/// One stack of equal layers.
struct EncoderStack {
  std::string prefix;  // of its parameters' names
  int64_t layer_count = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t heads = 0;
  ActivationKind activation = ActivationKind::kSavesInput;
  bool norms_first = false;  // norms before attention and MLP, as in ViT
  bool qkv_bias = true;
  bool holds_attention_results =
      false;                           // its Python names keep the norm and the attention's result until the layer ends
  bool drops_attention_output = true;  // DistilBERT does not
  double dropout = 0;
  double attention_dropout = 0;
};

struct TextInput {
  int64_t vocabulary = 0;
  int64_t position_count = 0;
  int64_t token_type_count = 0;  // 0: none
  bool has_norm = false;         // a norm after the embeddings
};

struct ImageInput {
  int64_t channels = 3;
  int64_t image_size = 0;
  int64_t patch_size = 0;
  int64_t extra_tokens = 1;  // class token, distillation token
  bool patch_bias = true;
  int64_t Grid() const { return image_size / patch_size; }
  int64_t Tokens() const { return Grid() * Grid() + extra_tokens; }
};

enum class EncoderTask : uint8_t { kMaskedLanguage, kImageClasses, kContrast };

struct EncoderSpec {
  std::string model_type;
  EncoderTask task = EncoderTask::kMaskedLanguage;
  std::optional<TextInput> text;
  EncoderStack text_stack;
  std::optional<ImageInput> image;
  EncoderStack image_stack;
  int64_t class_count = 0;
  int64_t projection_width = 0;
};

bool IsEncoder(const std::string& model_type);
Result<EncoderSpec> ReadEncoder(const ConfigJson& config, const std::string& model_type);
std::vector<ParameterSpec> EncoderParameters(const EncoderSpec& spec);
std::vector<BufferSpec> EncoderBuffers(const EncoderSpec& spec);

}  // namespace memstrata::plan
