#include "plan/model/model_description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "plan/model/listed_models.h"
#include "plan/model/stored_format.h"
#include "plan/model/text_defaults.h"
#include "plan/model/unconverted.h"

namespace memstrata::plan {
namespace {

CacheLayer StateLayer(int64_t elements) { return {CacheLayer::Kind::kState, 0, 0, 0, 0, elements}; }

// What a decoder keeps of earlier tokens: an entry for each attention and each state. Cross-attention keeps none of
// them: its keys and values are an image's.
std::vector<CacheLayer> DecoderCache(const DecoderSpec& spec) {
  std::vector<CacheLayer> layers;
  for (int64_t i = 0; i < spec.layer_count; ++i) {
    const MixerKind kind = spec.MixerOf(i);
    if (kind == MixerKind::kStateSpace || kind == MixerKind::kAttentionAndState)
      layers.push_back(StateLayer(spec.state_space.StateElements()));
    if (kind == MixerKind::kRecurrence) layers.push_back(StateLayer(spec.recurrence.StateElements()));
    if (kind == MixerKind::kNone || kind == MixerKind::kCrossAttention)
      layers.push_back({CacheLayer::Kind::kNone, 0, 0, 0, 0, 0});
    if (!spec.Attends(i)) continue;
    if (spec.latent.kv_rank > 0) {
      layers.push_back({CacheLayer::Kind::kLatent, 1, spec.latent.kv_rank, spec.latent.rope_dim, 0, 0});
    } else if (spec.IsSliding(i)) {
      layers.push_back(
          {CacheLayer::Kind::kSliding, spec.kv_heads, spec.head_dim, spec.head_dim, spec.sliding_window, 0});
    } else {
      layers.push_back({CacheLayer::Kind::kFull, spec.kv_heads, spec.head_dim, spec.head_dim, 0, 0});
    }
  }
  return layers;
}

void UseDecoder(DecoderSpec spec, ModelDescription& model) {
  model.parameters = DecoderParameters(spec);
  model.buffers = DecoderBuffers(spec);
  model.cache = DecoderCache(spec);
  model.layer_count = spec.layer_count;
  model.hidden = spec.hidden;
  model.vocabulary = spec.vocabulary;
  model.step = std::move(spec);
}

Status UseEncoder(const ConfigJson& config, ModelDescription& model) {
  MEMSTRATA_ASSIGN_OR_RETURN(EncoderSpec spec, ReadEncoder(config, model.model_type));
  model.parameters = EncoderParameters(spec);
  model.buffers = EncoderBuffers(spec);
  model.layer_count = spec.text_stack.layer_count + spec.image_stack.layer_count;
  model.hidden = std::max(spec.text_stack.hidden, spec.image_stack.hidden);
  model.vocabulary = spec.text ? spec.text->vocabulary : spec.class_count;
  model.step = std::move(spec);
  return {};
}

void UseT5(T5Spec spec, ModelDescription& model) {
  model.parameters = T5Parameters(spec);
  model.layer_count = spec.encoder_layers + spec.decoder_layers;
  model.encoder_layers = spec.encoder_layers;
  model.hidden = spec.hidden;
  model.vocabulary = spec.vocabulary;
  const CacheLayer layer{CacheLayer::Kind::kFull, spec.heads, spec.head_dim, spec.head_dim, 0, 0};
  model.cache.assign(static_cast<size_t>(2 * spec.decoder_layers), layer);  // own tokens and the encoder's
  model.step = std::move(spec);
}

bool HasDecoderKeys(const ConfigJson& config) {
  return config.Has("hidden_size") && config.Has("num_hidden_layers") && config.Has("num_attention_heads") &&
         config.Has("vocab_size");
}

// Layers of kinds that no known family's rule has made something of.
void NoteOtherLayers(const ConfigJson& config, ModelDescription& model) {
  const std::vector<std::string> types = config.Texts("layer_types");
  const auto others = std::count_if(types.begin(), types.end(), [](const std::string& type) {
    return type != "full_attention" && type != "sliding_attention" && type != "chunked_attention";
  });
  if (others == 0 || model.decoder() == nullptr || !model.decoder()->mixers.empty()) return;
  model.assumed_structure +=
      fmt::format("{}{} of {} layers are of kinds that are not known and are planned as attention to all tokens.",
                  model.assumed_structure.empty() ? "" : " ", others, types.size());
}

void AssumeLlama(ModelDescription& model) {
  model.assumed_structure =
      fmt::format("the model type \"{}\" is not known, so its layers are taken to be Llama's.", model.model_type);
}

// The language model is under text_config, or its keys are beside vision_config.
Status UseVisionLanguage(const ConfigJson& config, ModelDescription& model) {
  const std::string type = model.model_type;
  const std::optional<ConfigJson> text = config.Object("text_config");
  if (!text && !HasDecoderKeys(config)) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("The model type \"{}\" is not known, and the configuration lacks the keys of a decoder.", type));
  }
  const bool is_qwen = type == "qwen2_vl" || type == "qwen2_5_vl";
  model.model_type = is_qwen ? "qwen2" : text ? text->Text("model_type").value_or("llama") : "llama";
  const ConfigJson language = text ? text->WithDefaults(TextDefaults(model.model_type)) : config;
  MEMSTRATA_ASSIGN_OR_RETURN(DecoderSpec spec, ReadDecoder(language, model.model_type));
  UseDecoder(std::move(spec), model);
  if (const std::vector<std::string> keys = language.DefaultedKeys(); !keys.empty()) {
    model.notes.push_back(
        fmt::format("\"text_config\" does not name {}; the class \"{}\" of transformers has defaults.",
                    fmt::join(keys, ", "), model.model_type));
  }
  if (text && !IsDecoder(model.model_type)) AssumeLlama(model);
  NoteOtherLayers(language, model);
  MEMSTRATA_ASSIGN_OR_RETURN(model.max_positions, language.Integer("max_position_embeddings", 0));
  ParameterBuilder build;
  MEMSTRATA_ASSIGN_OR_RETURN(model.vision, ReadVisionTower(config, type, model.hidden, build));
  if (!model.vision) {
    model.assumed_structure +=
        fmt::format("{}the part of a \"{}\" that sees or hears is not known, so only its language model is planned.",
                    model.assumed_structure.empty() ? "" : " ", type);
    return {};
  }
  for (CacheLayer& layer : model.cache) {  // the only layers here without a cache of their own are cross-attention
    if (layer.kind != CacheLayer::Kind::kNone || model.vision->cross_tokens == 0) continue;
    const DecoderSpec& decoder = *model.decoder();
    layer = {CacheLayer::Kind::kFixed, decoder.kv_heads,           decoder.head_dim,
             decoder.head_dim,         model.vision->cross_tokens, 0};
  }
  if (model.vision->is_guessed) {
    model.assumed_structure +=
        fmt::format("{}the model type \"{}\" is not known, so what joins its tower to the language model is LLaVA's.",
                    model.assumed_structure.empty() ? "" : " ", type);
  }
  std::vector<ParameterSpec> tower = build.Take();
  model.parameters.insert(model.parameters.begin(), tower.begin(), tower.end());
  return {};
}

Status UseConfig(const ConfigJson& config, ModelDescription& model) {
  const std::string& type = model.model_type;
  if (IsT5(type)) {
    MEMSTRATA_ASSIGN_OR_RETURN(T5Spec spec, ReadT5(config));
    UseT5(std::move(spec), model);
    return {};
  }
  if (IsEncoder(type)) return UseEncoder(config, model);
  if (const ListedModelReader read = FindListedModel(type)) return read(config, model);
  const std::string class_name = config.Text("_class_name").value_or("");
  if (IsDiffusion(class_name)) {
    ParameterBuilder build;
    MEMSTRATA_ASSIGN_OR_RETURN(model.diffusion, ReadDiffusion(config, class_name, build));
    model.model_type = class_name;
    model.parameters = build.Take();
    model.buffers = model.diffusion->buffers;
    if (model.diffusion->image_tokens > 0) {
      model.notes.push_back(fmt::format(
          "A sample is {}: {} tokens (--image-tokens gives another number){}.", model.diffusion->sample,
          model.diffusion->image_tokens,
          model.diffusion->text_tokens == 0 ? "" : fmt::format(", with {} of text", model.diffusion->text_tokens)));
    }
    return {};
  }
  if (!IsDecoder(type) && (config.Has("vision_config") || config.Has("text_config")))
    return UseVisionLanguage(config, model);
  if (!IsDecoder(type) && !HasDecoderKeys(config)) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("The model type \"{}\" is not known, and the configuration lacks the keys of a decoder.", type));
  }
  if (!IsDecoder(type)) AssumeLlama(model);
  MEMSTRATA_ASSIGN_OR_RETURN(DecoderSpec spec, ReadDecoder(config, type));
  UseDecoder(std::move(spec), model);
  NoteOtherLayers(config, model);
  MEMSTRATA_ASSIGN_OR_RETURN(model.max_positions, config.IntegerOf({"max_position_embeddings", "n_positions"}, 0));
  return {};
}

constexpr int64_t kMostParameters = int64_t{1} << 50;

Status CheckSize(ModelDescription& model) {
  if (model.layer_count > ConfigJson::kMostLayers) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} layers are more than the {} that are planned for.",
                                                         model.layer_count, ConfigJson::kMostLayers));
  }
  double count = 0;
  for (const ParameterSpec& parameter : model.parameters) {
    double elements = 1;
    for (const int64_t size : parameter.shape) elements *= static_cast<double>(size);
    count += elements;
  }
  if (count > static_cast<double>(kMostParameters)) {
    return Fail(ErrorCode::kInvalidArgument, "A model of more than 2^50 parameters is not planned.");
  }
  model.parameter_count = CountElements(model.parameters);
  return {};
}

}  // namespace

bool ModelDescription::HasSimulatedStep() const {
  if (vision) return false;
  if (const DecoderSpec* spec = decoder()) return IsSimulated(*spec);
  return !std::holds_alternative<std::monostate>(step);
}

Result<ModelDescription> DescribeConfig(std::string_view json_text, std::string name) {
  MEMSTRATA_ASSIGN_OR_RETURN(const ConfigJson config, ConfigJson::Parse(json_text));
  ModelDescription model;
  model.name = name;
  model.source = std::move(name);
  model.model_type = config.Text("model_type").value_or("");
  // Sizes are checked before any list of tensors is made.
  for (const char* key : {"num_hidden_layers", "n_layer", "num_layers", "num_decoder_layers"}) {
    MEMSTRATA_ASSIGN_OR_RETURN(const int64_t layers, config.Integer(key, 0));
    if (layers > ConfigJson::kMostLayers) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} layers are more than the {} that are planned for.", layers, ConfigJson::kMostLayers));
    }
  }
  MEMSTRATA_TRY(UseConfig(config, model));
  MEMSTRATA_TRY(CheckSize(model));
  model.stored_format = ReadStoredFormat(config, model.notes);
  const std::vector<std::string> unused = MarkUnconverted(config, model.parameters);
  if (!unused.empty()) {
    model.notes.push_back(fmt::format(
        "Of the parts that quantization_config leaves in the precision {} are not found in the model, such as \"{}\".",
        unused.size(), unused.front()));
  }
  model.unknown_keys = config.UnusedKeys();
  return model;
}

Result<ModelDescription> DescribeExplicit(std::string_view form) {
  std::map<std::string, std::string, std::less<>> json_keys = {{"layers", "num_hidden_layers"},
                                                               {"hidden", "hidden_size"},
                                                               {"heads", "num_attention_heads"},
                                                               {"kv_heads", "num_key_value_heads"},
                                                               {"ffn", "intermediate_size"},
                                                               {"vocab", "vocab_size"},
                                                               {"head_dim", "head_dim"},
                                                               {"experts", "num_local_experts"},
                                                               {"experts_per_token", "num_experts_per_tok"},
                                                               {"window", "sliding_window"}};
  std::string json = R"({"model_type": "llama")";
  bool has_width = false;
  int64_t hidden = 0;
  while (!form.empty()) {
    const size_t end = std::min(form.find_first_of(" ,"), form.size());
    const std::string_view word = form.substr(0, end);
    form.remove_prefix(std::min(end + 1, form.size()));
    if (word.empty()) continue;
    const size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    if (key == "tied") {
      json += fmt::format(R"(, "tie_word_embeddings": {})", value == "no" || value == "false" ? "false" : "true");
      continue;
    }
    const auto found = json_keys.find(key);
    if (found == json_keys.end()) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("\"{}\" is not a word of the explicit form; it knows layers, hidden, heads, "
                              "kv_heads, ffn, vocab, head_dim, experts, experts_per_token, window, tied.",
                              key));
    }
    int64_t number = 0;
    const auto [stop, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (problem != std::errc{} || stop != value.data() + value.size() || number <= 0) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("\"{}\" takes a whole number above 0, not \"{}\".", key, value));
    }
    json += fmt::format(R"(, "{}": {})", found->second, number);
    has_width = has_width || key == "ffn";
    if (key == "hidden") hidden = std::min(number, ConfigJson::kLargestSize);
  }
  if (!has_width && hidden > 0) json += fmt::format(R"(, "intermediate_size": {})", 4 * hidden);
  MEMSTRATA_ASSIGN_OR_RETURN(ModelDescription model, DescribeConfig(json + "}", "explicit form"));
  if (!has_width) model.notes.push_back(fmt::format("No ffn is given; 4 x hidden = {} is assumed.", 4 * hidden));
  return model;
}

ModelDescription DescribeDecoder(DecoderSpec spec, std::string name, std::string source) {
  ModelDescription model;
  model.name = std::move(name);
  model.source = std::move(source);
  UseDecoder(std::move(spec), model);
  model.parameter_count = CountElements(model.parameters);
  return model;
}

ModelDescription DescribeT5(T5Spec spec, std::string name, std::string source) {
  ModelDescription model;
  model.name = std::move(name);
  model.source = std::move(source);
  UseT5(std::move(spec), model);
  model.parameter_count = CountElements(model.parameters);
  return model;
}

ModelDescription DescribeCount(int64_t parameter_count) {
  ModelDescription model;
  model.name = fmt::format("{} parameters", parameter_count);
  model.source = "number of parameters";
  model.parameter_count = parameter_count;
  return model;
}

}  // namespace memstrata::plan
