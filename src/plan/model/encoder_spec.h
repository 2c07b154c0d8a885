#pragma once
// Transformer encoders: masked language models (BERT, RoBERTa, DistilBERT, ELECTRA, ALBERT), image classifiers (ViT,
// DeiT, DINOv2) and the pairs of towers of CLIP and SigLIP.

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
  bool drops_mlp_output = true;        // ALBERT does not
  bool scales_results = false;         // a learned factor for each channel of both blocks' results (DINOv2)
  bool fuses_gate_up = false;          // a gated MLP whose two products are one (DINOv2's largest)
  bool has_fused_attention = true;     // false: the class has its own attention alone (ELECTRA)
  bool has_older_eager = false;        // its eager attention holds the scores and gives the weights back
  bool recomputes = true;              // false: the class has no checkpointing (ALBERT)
  std::vector<int64_t> order;          // of the layers as they run, for those that run again; empty: each once
  double dropout = 0;
  double attention_dropout = 0;
};

struct TextInput {
  int64_t vocabulary = 0;
  int64_t position_count = 0;
  int64_t token_type_count = 0;  // 0: none
  bool has_norm = false;         // a norm after the embeddings
  bool is_projected = false;     // the tables are narrower than the stack, and a product leads from one to the other
};

struct ImageInput {
  int64_t channels = 3;
  int64_t image_size = 0;
  int64_t patch_size = 0;
  int64_t extra_tokens = 1;  // class token, distillation token
  bool patch_bias = true;
  bool pools_by_attention = false;  // a learned query attends to the patches (SigLIP)
  bool classifies_mean = false;     // the classifier sees the class token and the mean of all others (DINOv2)
  int64_t Grid() const { return image_size / patch_size; }
  int64_t Tokens() const { return Grid() * Grid() + extra_tokens; }
};

enum class EncoderTask : uint8_t { kMaskedLanguage, kImageClasses, kContrast, kSigmoidContrast };

struct EncoderSpec {
  std::string model_type;
  EncoderTask task = EncoderTask::kMaskedLanguage;
  ActivationKind head_activation = ActivationKind::kSavesInput;  // of a masked language model's head
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
