#include "plan/eager/t5_model.h"

#include <fmt/format.h>

#include "plan/eager/layers.h"

namespace memstrata::plan::eager {
namespace {

// The square of the input is taken in float32, the rest in the input's own format.
Tensor T5Norm(Tape& tape, const Tensor& x, Parameter& weight) {
  Tensor scale = MeanOfLast(tape, Power(tape, Cast(tape, x, DType::kFloat32)));
  scale = Rsqrt(tape, AddScalar(tape, scale));
  Tensor normed = Multiply(tape, x, scale);
  if (weight.value.dtype != DType::kFloat32) normed = Cast(tape, normed, weight.value.dtype);
  return Multiply(tape, weight.value, normed);
}

struct AttentionLayer {
  LinearLayer query, key, value, output;
  Parameter* bias_table = nullptr;
  Parameter* norm = nullptr;
};

struct T5Layer {
  AttentionLayer self, cross;
  LinearLayer gate, up, down;
  Parameter* norm = nullptr;
};

// Position biases are made by the first layer and handed on; they outlive it.
struct Biases {
  Tensor self;
  Tensor cross;
};

class T5 final : public EagerModel {
 public:
  T5(Tape& tape, const T5Spec& spec, DType dtype, const AdapterOptions& adapters)
      : spec_(spec), parameters_(tape, T5Parameters(spec), {}, dtype, adapters) {
    if (adapters.IsUsed()) parameters_.AddAdapters(tape, adapters);
    encoder_ = FindStack("encoder", spec.encoder_layers);
    decoder_ = FindStack("decoder", spec.decoder_layers);
    for (const char* beside : {"encoder.final_norm.weight", "decoder.final_norm.weight"})
      parameters_.Get(beside).layer = -1;
    head_ = LinearLayer::Find(parameters_, spec.ties_head ? "tokens" : "lm_head");
  }

  ParameterSet& parameters() override { return parameters_; }

  ModelInputs MakeInputs(Tape& tape, const RunOptions& options) override {
    ModelInputs inputs;
    inputs.ids = tape.Empty({options.batch, options.sequence}, DType::kInt64);
    if (options.mask != MaskKind::kNone) inputs.mask = tape.Empty(inputs.ids.shape, DType::kInt64);
    if (!options.generates) inputs.labels = tape.Empty({options.batch, Target(options)}, DType::kInt64);
    return inputs;
  }

  ModelOutput Forward(Tape& tape, const ModelInputs& inputs, const RunOptions& options,
                      std::shared_ptr<KvCache> cache) override {
    if (options.generates) return Generate(tape, inputs, options, std::move(cache));
    ModelOutput output;
    const Tensor memory = RunStack(tape, encoder_, inputs.ids, nullptr, options, nullptr);
    output.others.push_back(memory);
    const Tensor shifted = tape.Empty(inputs.labels.shape, DType::kInt64);
    const bool caches = options.use_cache && (options.checkpoint == CheckpointKind::kNone || !tape.grad_enabled());
    if (caches) output.cache = std::make_shared<KvCache>();
    AddScores(tape, RunStack(tape, decoder_, shifted, &memory, options, output.cache.get()), output);
    const int64_t rows = ElementCount(inputs.labels.shape);
    output.loss = CrossEntropy(tape, View(output.logits, {rows, spec_.vocabulary}), inputs.labels);
    return output;
  }

 private:
  // The encoder runs once; its output and its keys and values stay with the cache. The decoder starts with one token.
  ModelOutput Generate(Tape& tape, const ModelInputs& inputs, const RunOptions& options,
                       std::shared_ptr<KvCache> cache) {
    ModelOutput output;
    Tensor ids = inputs.ids;
    if (cache == nullptr) {
      cache = std::make_shared<KvCache>();
      cache->memory = RunStack(tape, encoder_, inputs.ids, nullptr, options, nullptr);
      ids = tape.Empty({options.batch, 1}, DType::kInt64);
    }
    output.cache = std::move(cache);
    AddScores(tape, RunStack(tape, decoder_, ids, &output.cache->memory, options, output.cache.get()), output);
    return output;
  }

  void AddScores(Tape& tape, Tensor hidden, ModelOutput& output) {
    if (spec_.ties_head) hidden = Scale(tape, hidden);
    output.others.push_back(hidden);
    output.logits = head_(tape, hidden);
    output.logits.storage->Relabel(Category::kLogits);
  }

  static int64_t Target(const RunOptions& options) {
    return options.target_sequence > 0 ? options.target_sequence : options.sequence;
  }

  AttentionLayer FindAttention(const std::string& name) {
    const auto linear = [&](const char* part) { return LinearLayer::Find(parameters_, name + part); };
    return {linear(".q"),
            linear(".k"),
            linear(".v"),
            linear(".o"),
            parameters_.Find(name + ".bias_table.weight"),
            parameters_.Find(name + ".norm.weight")};
  }

  std::vector<T5Layer> FindStack(const std::string& name, int64_t count) {
    std::vector<T5Layer> layers;
    for (int64_t i = 0; i < count; ++i) {
      const std::string prefix = fmt::format("{}.{}.", name, i);
      const auto linear = [&](const char* part) { return LinearLayer::Find(parameters_, prefix + part); };
      layers.push_back({FindAttention(prefix + "self"), FindAttention(prefix + "cross"), linear("gate"), linear("up"),
                        linear("down"), parameters_.Find(prefix + "norm.weight")});
    }
    return layers;
  }

  Tensor Heads(const Tensor& x) const {
    return Transposed(View(x, {x.shape[0], x.shape[1], spec_.heads, spec_.head_dim}),
                      {x.shape[0], spec_.heads, x.shape[1], spec_.head_dim});
  }

  // The table's values for every pair of positions; with the mask one for each sample.
  Tensor PositionBias(Tape& tape, const AttentionLayer& layer, const Tensor& mask, int64_t queries,
                      int64_t keys) const {
    Tensor bias;
    if (layer.bias_table != nullptr) {
      const Tensor buckets = tape.Empty({queries, keys}, DType::kInt64);
      bias = View(Embedding(tape, *layer.bias_table, buckets), {1, spec_.heads, queries, keys});
    } else {
      bias = tape.Empty({1, spec_.heads, queries, keys}, parameters_.dtype());
    }
    return Add(tape, bias, mask);
  }

  // Those of the encoder's output (odd indices) are made once and then read from the cache.
  std::pair<Tensor, Tensor> KeysAndValues(Tape& tape, const AttentionLayer& layer, const Tensor& source, KvCache* cache,
                                          size_t cache_index) const {
    const bool is_cross = cache_index % 2 == 1;
    if (cache != nullptr && is_cross && cache_index < cache->keys.size() && cache->keys[cache_index].defined())
      return {cache->keys[cache_index], cache->values[cache_index]};
    const Tensor key = Heads(layer.key(tape, source));
    const Tensor value = Heads(layer.value(tape, source));
    if (cache == nullptr) return {key, value};
    return UpdateCache(tape, *cache, cache_index, key, value, 0);
  }

  Tensor Attention(Tape& tape, const AttentionLayer& layer, const Tensor& x, const Tensor& source, const Tensor& mask,
                   Tensor& bias, KvCache* cache, size_t cache_index) const {
    const Tensor query = Heads(layer.query(tape, x));
    const auto [key, value] = KeysAndValues(tape, layer, source, cache, cache_index);
    const Shape& k = key.shape;
    const Tensor scores = BatchMatmul(tape, query, View(key, {k[0], k[1], k[3], k[2]}));
    if (!bias.defined()) bias = PositionBias(tape, layer, mask, x.shape[1], k[2]);
    const Tensor biased = AddInPlace(tape, scores, bias);
    Tensor weights = Softmax(tape, Cast(tape, biased, DType::kFloat32), DType::kFloat32);
    weights = Cast(tape, weights, biased.dtype);  // the scores in float32 are gone by then
    weights = Dropout(tape, weights, spec_.dropout);
    Tensor output = BatchMatmul(tape, weights, value);
    output.is_contiguous = false;  // seen token by token
    output = View(Contiguous(tape, output), {x.shape[0], x.shape[1], spec_.heads * spec_.head_dim});
    return layer.output(tape, output);
  }

  Tensor FeedForward(Tape& tape, const T5Layer& layer, const Tensor& x) const {
    Tensor inner;
    if (spec_.is_gated) {
      const Tensor gate = Activate(tape, layer.gate(tape, x), spec_.activation);
      inner = Multiply(tape, gate, layer.up(tape, x));
    } else {
      inner = Activate(tape, layer.up(tape, x), spec_.activation);
    }
    inner = Dropout(tape, inner, spec_.dropout);
    inner = Cast(tape, inner, layer.down.weight->value.dtype);
    return layer.down(tape, inner);
  }

  struct Context {
    Tensor mask, cross_mask;
    Biases biases;
    Tensor memory;
    KvCache* cache = nullptr;
  };

  Tensor Layer(Tape& tape, const T5Layer& layer, size_t index, const Tensor& input, Context& context) const {
    Tensor hidden = input;
    {
      const Tensor normed = T5Norm(tape, hidden, *layer.self.norm);
      const Tensor attention =
          Attention(tape, layer.self, normed, normed, context.mask, context.biases.self, context.cache, 2 * index);
      hidden = Add(tape, hidden, Dropout(tape, attention, spec_.dropout));
    }
    if (context.memory.defined()) {
      const Tensor normed = T5Norm(tape, hidden, *layer.cross.norm);
      const Tensor attention = Attention(tape, layer.cross, normed, context.memory, context.cross_mask,
                                         context.biases.cross, context.cache, 2 * index + 1);
      hidden = Add(tape, hidden, Dropout(tape, attention, spec_.dropout));
    }
    const Tensor normed = T5Norm(tape, hidden, *layer.norm);
    return Add(tape, hidden, Dropout(tape, FeedForward(tape, layer, normed), spec_.dropout));
  }

  Tensor RunStack(Tape& tape, const std::vector<T5Layer>& layers, const Tensor& ids, const Tensor* memory,
                  const RunOptions& options, KvCache* cache) {
    auto context = std::make_shared<Context>();
    context->cache = cache;
    const bool is_decoder = memory != nullptr;
    Tensor hidden = Embedding(tape, parameters_.Get("tokens.weight"), ids);
    const int64_t length = ids.shape[1];
    const bool has_past = cache != nullptr && !cache->keys.empty() && cache->keys[0].defined();
    const int64_t past = has_past ? cache->keys[0].shape[2] : 0;
    context->mask = tape.Empty({ids.shape[0], 1, is_decoder ? length : 1, past + length}, hidden.dtype);
    if (is_decoder) {
      context->memory = *memory;
      context->cross_mask = tape.Empty({ids.shape[0], 1, 1, memory->shape[1]}, hidden.dtype);
    }
    hidden = Dropout(tape, hidden, spec_.dropout);
    const auto run = [this, &layers, is_decoder](Tape& t, size_t i, const Tensor& input, Context& given) {
      const int64_t of_model = static_cast<int64_t>(i) + (is_decoder ? spec_.encoder_layers : 0);
      return t.RunLayer(of_model, input, [&](const Tensor& x) { return Layer(t, layers[i], i, x, given); });
    };
    for (size_t i = 0; i < layers.size(); ++i) {
      if (options.checkpoint == CheckpointKind::kNone || !tape.grad_enabled()) {
        hidden = run(tape, i, hidden, *context);
        continue;
      }
      // The biases that a layer got are what it gets again.
      const Biases given = context->biases;
      hidden = tape.Checkpoint([=](Tape& t) {
        Context again = *context;
        again.biases = given;
        Tensor result = run(t, i, hidden, again);
        context->biases = again.biases;
        return result;
      });
    }
    const char* norm = is_decoder ? "decoder.final_norm.weight" : "encoder.final_norm.weight";
    return Dropout(tape, T5Norm(tape, hidden, parameters_.Get(norm)), spec_.dropout);
  }

  T5Spec spec_;
  ParameterSet parameters_;
  std::vector<T5Layer> encoder_, decoder_;
  LinearLayer head_;
};

}  // namespace

std::unique_ptr<EagerModel> MakeT5(Tape& tape, const T5Spec& spec, DType dtype, const AdapterOptions& adapters) {
  return std::make_unique<T5>(tape, spec, dtype, adapters);
}

}  // namespace memstrata::plan::eager
