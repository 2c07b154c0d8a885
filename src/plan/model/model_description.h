#pragma once
// What the planner knows of a model: its exact tensors, what it keeps for each token, and, for the families whose code
// is known operation by operation, how to run a step of it.

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "plan/model/bart_spec.h"
#include "plan/model/deberta_spec.h"
#include "plan/model/decoder_spec.h"
#include "plan/model/diffusion_spec.h"
#include "plan/model/encoder_spec.h"
#include "plan/model/modern_bert_spec.h"
#include "plan/model/parameter_spec.h"
#include "plan/model/t5_spec.h"
#include "plan/model/vision_tower.h"
#include "plan/workload.h"

namespace memstrata::plan {

/// What one layer keeps of earlier tokens when a model generates.
struct CacheLayer {
  enum class Kind : uint8_t { kFull, kSliding, kLatent, kState, kNone, kFixed };
  Kind kind = Kind::kFull;
  int64_t kv_heads = 0;        // kFull, kSliding, kFixed
  int64_t key_dim = 0;         // of a head; kLatent: width of the latent vector
  int64_t value_dim = 0;       // of a head; kLatent: width of the rotary key
  int64_t window = 0;          // kSliding; kFixed: tokens of the image or recording that is attended to
  int64_t state_elements = 0;  // kState: elements of a sequence's constant state
};

struct ModelDescription {
  std::string name;
  std::string source;                     // the file, preset or form that it came from
  std::string model_type;                 // of Hugging Face; empty for weights alone
  std::vector<ParameterSpec> parameters;  // empty when only their count is known
  std::vector<BufferSpec> buffers;
  int64_t parameter_count = 0;
  std::optional<uint64_t> stored_weight_bytes;  // from a weights file: sum of its tensors by their own types
  uint64_t stored_table_bytes = 0;  // of these, the table of tokens of a file whose head is a tensor of its own
  std::optional<WeightFormat> stored_format;  // of the checkpoint, where the configuration names it
  std::vector<CacheLayer> cache;
  int64_t layer_count = 0;
  int64_t encoder_layers = 0;  // the first of them, in encoder-decoder models
  int64_t hidden = 0;
  int64_t vocabulary = 0;
  int64_t max_positions = 0;  // 0: unknown
  std::optional<DiffusionSpec> diffusion;
  std::optional<VisionTower> vision;  // before the language model
  std::variant<std::monostate, DecoderSpec, EncoderSpec, T5Spec, BartSpec, DebertaSpec, ModernBertSpec> step;
  std::vector<std::string> unknown_keys;
  std::vector<std::string> notes;  // what was assumed while reading
  /// Why the list of tensors is a guess; empty when the structure is known. A plan of a guess never says "fits".
  std::string assumed_structure;

  const DecoderSpec* decoder() const { return std::get_if<DecoderSpec>(&step); }
  /// True when a step of it can be simulated.
  bool HasSimulatedStep() const;
};

/// Reads a Hugging Face config.json. A type that is not known is taken to be a decoder of Llama's kind where its keys
/// allow, and `assumed_structure` says so.
Result<ModelDescription> DescribeConfig(std::string_view json_text, std::string name);
/// Reads "layers=32 hidden=4096 heads=32 kv_heads=8 ffn=14336 vocab=128256 …", a decoder of Llama's kind.
Result<ModelDescription> DescribeExplicit(std::string_view form);
/// A decoder whose switches are set one by one.
ModelDescription DescribeDecoder(DecoderSpec spec, std::string name, std::string source);
ModelDescription DescribeT5(T5Spec spec, std::string name, std::string source);
/// Only the number of parameters is known.
ModelDescription DescribeCount(int64_t parameter_count);

/// A model that is built in, by name ("llama-3.1-8b"); the list is data/model_presets.toml.
Result<ModelDescription> DescribePreset(std::string_view name);
/// Its config.json, with the keys that decide sizes.
Result<std::string> PresetConfig(std::string_view name);
std::vector<std::string> PresetNames();
/// The count that the makers of a preset published; 0 for an unknown name.
int64_t PublishedParameterCount(std::string_view name);

}  // namespace memstrata::plan
