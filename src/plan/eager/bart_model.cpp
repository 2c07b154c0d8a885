#include "plan/eager/bart_model.h"

#include <fmt/format.h>

#include "plan/eager/layers.h"

namespace memstrata::plan::eager {
namespace {

struct BartAttention {
  LinearLayer query, key, value, output;
  NormLayer norm;
};

struct BartLayer {
  BartAttention self, cross;
  LinearLayer up, down;
  NormLayer norm;
};

struct BartStack {
  std::vector<BartLayer> layers;
  int64_t heads = 0;
  std::string prefix;
};

class Bart final : public EagerModel {
 public:
  Bart(Tape& tape, const BartSpec& spec, const ModelTensors& tensors, DType dtype, const AdapterOptions& adapters)
      : spec_(spec), parameters_(tape, tensors.parameters, tensors.buffers, dtype, adapters) {
    if (adapters.IsUsed()) parameters_.AddAdapters(tape, adapters);
    encoder_ = FindStack("encoder.", spec.encoder_layers, spec.encoder_heads);
    decoder_ = FindStack("decoder.", spec.decoder_layers, spec.decoder_heads);
    head_ = LinearLayer::Find(parameters_, spec.ties_head ? "tokens" : "lm_head");
    if (!spec.has_fixed_positions) return;
    for (const char* name : {"encoder.positions.weight", "decoder.positions.weight"}) {
      Parameter& table = parameters_.Get(name);
      table.is_trainable = table.value.requires_grad = false;
    }
  }

  ParameterSet& parameters() override { return parameters_; }

  ModelInputs MakeInputs(Tape& tape, const RunOptions& options) override {
    ModelInputs inputs;
    inputs.ids = tape.Empty({options.batch, options.sequence}, DType::kInt64);
    if (options.mask != MaskKind::kNone) inputs.mask = tape.Empty(inputs.ids.shape, DType::kInt64);
    const int64_t target = options.target_sequence > 0 ? options.target_sequence : options.sequence;
    if (!options.generates) inputs.labels = tape.Empty({options.batch, target}, DType::kInt64);
    return inputs;
  }

  // With labels the class keeps no cache.
  ModelOutput Forward(Tape& tape, const ModelInputs& inputs, const RunOptions& options,
                      std::shared_ptr<KvCache> cache) override {
    ModelOutput output;
    if (options.generates) {
      Tensor ids = inputs.ids;
      if (cache == nullptr) {
        cache = std::make_shared<KvCache>();
        cache->memory = Encode(tape, inputs, options);
        ids = tape.Empty({options.batch, 1}, DType::kInt64);
      }
      output.cache = std::move(cache);
      AddScores(tape, Decode(tape, ids, inputs, output.cache->memory, options, output.cache.get()), output);
      return output;
    }
    const Tensor shifted = tape.Empty(inputs.labels.shape, DType::kInt64);
    const Tensor memory = Encode(tape, inputs, options);
    output.others.push_back(memory);
    AddScores(tape, Decode(tape, shifted, inputs, memory, options, nullptr), output);
    const int64_t rows = ElementCount(inputs.labels.shape);
    output.loss = CrossEntropy(tape, View(output.logits, {rows, spec_.vocabulary}), inputs.labels);
    return output;
  }

 private:
  BartAttention FindAttention(const std::string& prefix) {
    const auto linear = [&](const char* name) { return LinearLayer::Find(parameters_, prefix + name); };
    return {linear("q_proj"), linear("k_proj"), linear("v_proj"), linear("o_proj"), Norm(prefix + "norm")};
  }

  BartStack FindStack(const std::string& prefix, int64_t count, int64_t heads) {
    BartStack stack;
    stack.prefix = prefix;
    stack.heads = heads;
    for (int64_t i = 0; i < count; ++i) {
      const std::string layer = fmt::format("{}layers.{}.", prefix, i);
      stack.layers.push_back({FindAttention(layer + "self."), FindAttention(layer + "cross."),
                              LinearLayer::Find(parameters_, layer + "up_proj"),
                              LinearLayer::Find(parameters_, layer + "down_proj"), Norm(layer + "norm")});
    }
    return stack;
  }

  NormLayer Norm(const std::string& name) { return NormLayer::Find(parameters_, name, NormKind::kLayer); }

  // A constant is added to the scores: zeros in the parameters' format.
  void AddScores(Tape& tape, const Tensor& hidden, ModelOutput& output) {
    output.others.push_back(hidden);
    Tensor bias;
    bias.shape = {1, spec_.vocabulary};
    bias.dtype = parameters_.dtype();
    output.logits = Add(tape, head_(tape, hidden), bias);
    output.logits.storage->Relabel(Category::kLogits);
  }

  struct Context {  // what every layer of one stack is given
    AttentionCall self, cross;
    Tensor memory;
    KvCache* cache = nullptr;
    bool is_training = false;
  };

  // Tokens and positions stay under their names as long as the stack runs.
  struct Embedded {
    Tensor tokens, positions;
  };

  Embedded Embed(Tape& tape, const BartStack& stack, const Tensor& ids, bool per_sample, const RunOptions& options) {
    Embedded embedded;
    Tensor tokens = Embedding(tape, parameters_.Get("tokens.weight"), ids);
    NeedGradientToRecompute(parameters_, options, tokens);
    embedded.tokens = Scale(tape, tokens);
    const Tensor index = tape.Empty({per_sample ? ids.shape[0] : 1, ids.shape[1]}, DType::kInt64);
    embedded.positions = Embedding(tape, parameters_.Get(stack.prefix + "positions.weight"), index);
    return embedded;
  }

  Tensor Start(Tape& tape, const BartStack& stack, const Embedded& embedded) {
    Tensor hidden = Add(tape, embedded.tokens, embedded.positions);
    const NormLayer norm = Norm(stack.prefix + "embedding_norm");
    if (norm.weight != nullptr) hidden = norm(tape, hidden);
    return Dropout(tape, hidden, spec_.dropout);
  }

  AttentionCall Call(const RunOptions& options) const {
    AttentionCall call;
    call.kind = options.attention;
    call.is_causal = false;
    call.softmax_in_input_dtype = true;
    call.dropout = options.is_training ? spec_.attention_dropout : 0;
    return call;
  }

  // A mask of the encoder's tokens as the kernels of `queries` tokens take it.
  static Tensor PaddingMask(Tape& tape, const RunOptions& options, const ModelInputs& inputs, int64_t queries,
                            DType dtype) {
    const bool is_needed = options.mask == MaskKind::kPadded ||
                           (options.mask == MaskKind::kOnes && options.attention == AttentionKind::kEager);
    if (!is_needed) return {};
    return tape.Empty({inputs.ids.shape[0], 1, queries, inputs.ids.shape[1]}, dtype);
  }

  Tensor Encode(Tape& tape, const ModelInputs& inputs, const RunOptions& options) {
    const Embedded embedded = Embed(tape, encoder_, inputs.ids, spec_.has_position_per_sample, options);
    const Tensor hidden = Start(tape, encoder_, embedded);
    Context context;
    context.is_training = options.is_training;
    context.self = Call(options);
    context.self.mask = PaddingMask(tape, options, inputs, inputs.ids.shape[1], embedded.tokens.dtype);
    return RunStack(tape, encoder_, hidden, context, options);
  }

  Tensor Decode(Tape& tape, const Tensor& ids, const ModelInputs& inputs, const Tensor& memory,
                const RunOptions& options, KvCache* cache) {
    const Embedded embedded = Embed(tape, decoder_, ids, false, options);
    const bool has_past = cache != nullptr && !cache->keys.empty();
    const int64_t keys = ids.shape[1] + (has_past ? cache->keys[0].shape[2] : 0);
    const Tensor ones = tape.Empty({ids.shape[0], keys}, DType::kFloat32);
    Context context;
    context.is_training = options.is_training;
    context.memory = memory;
    context.cache = cache;
    context.self = context.cross = Call(options);
    context.self.is_causal = true;
    if (options.attention == AttentionKind::kEager)
      context.self.mask = tape.Empty({ids.shape[0], 1, ids.shape[1], keys}, embedded.tokens.dtype);
    context.cross.mask = PaddingMask(tape, options, inputs, ids.shape[1], embedded.tokens.dtype);
    return RunStack(tape, decoder_, Start(tape, decoder_, embedded), context, options);
  }

  Tensor RunStack(Tape& tape, const BartStack& stack, Tensor hidden, const Context& context,
                  const RunOptions& options) {
    for (size_t i = 0; i < stack.layers.size(); ++i) {
      if (options.checkpoint == CheckpointKind::kNone || !tape.grad_enabled()) {
        hidden = Layer(tape, stack, i, hidden, context);
      } else {  // the reentrant form hands on the encoder's output too; what it keeps is the same
        hidden = tape.Checkpoint(
            [this, &stack, i, hidden, context](Tape& t) { return Layer(t, stack, i, hidden, context); });
      }
    }
    const NormLayer norm = Norm(stack.prefix + "last_norm");
    return norm.weight != nullptr ? norm(tape, hidden) : hidden;
  }

  Tensor Heads(const Tensor& x, int64_t heads) const {
    const int64_t head_dim = spec_.hidden / heads;
    return Transposed(View(x, {x.shape[0], x.shape[1], heads, head_dim}), {x.shape[0], heads, x.shape[1], head_dim});
  }

  // Keys and values of the encoder's output (odd indices) are made once and then read from the cache.
  std::pair<Tensor, Tensor> KeysAndValues(Tape& tape, const BartAttention& layer, const Tensor& source, int64_t heads,
                                          KvCache* cache, size_t cache_index) const {
    const bool is_cross = cache_index % 2 == 1;
    if (cache != nullptr && is_cross && cache_index < cache->keys.size() && cache->keys[cache_index].defined())
      return {cache->keys[cache_index], cache->values[cache_index]};
    const Tensor key = Heads(layer.key(tape, source), heads);
    const Tensor value = Heads(layer.value(tape, source), heads);
    if (cache == nullptr) return {key, value};
    return UpdateCache(tape, *cache, cache_index, key, value, 0);
  }

  // One block with its residual; `source` is what keys and values are made of, nothing for the input itself.
  Tensor Attention(Tape& tape, const BartAttention& layer, const Tensor& input, const Tensor* source,
                   const AttentionCall& call, int64_t heads, KvCache* cache, size_t cache_index) const {
    const Tensor x = spec_.norms_first ? layer.norm(tape, input) : input;
    const Tensor query = Heads(layer.query(tape, x), heads);
    const auto [key, value] = KeysAndValues(tape, layer, source != nullptr ? *source : x, heads, cache, cache_index);
    Tensor result = layer.output(tape, Attend(tape, query, key, value, call));
    result = Add(tape, input, Dropout(tape, result, spec_.dropout));
    return spec_.norms_first ? result : layer.norm(tape, result);
  }

  Tensor Layer(Tape& tape, const BartStack& stack, size_t index, const Tensor& input, const Context& context) const {
    const BartLayer& layer = stack.layers[index];
    Tensor hidden = Attention(tape, layer.self, input, nullptr, context.self, stack.heads, context.cache, 2 * index);
    if (context.memory.defined()) {
      hidden = Attention(tape, layer.cross, hidden, &context.memory, context.cross, stack.heads, context.cache,
                         2 * index + 1);
    }
    Tensor x = spec_.norms_first ? layer.norm(tape, hidden) : hidden;
    x = Dropout(tape, Activate(tape, layer.up(tape, x), spec_.activation), spec_.activation_dropout);
    x = Dropout(tape, layer.down(tape, x), spec_.dropout);
    hidden = Add(tape, hidden, x);
    return spec_.norms_first ? hidden : layer.norm(tape, hidden);
  }

  BartSpec spec_;
  ParameterSet parameters_;
  BartStack encoder_, decoder_;
  LinearLayer head_;
};

}  // namespace

std::unique_ptr<EagerModel> MakeBart(Tape& tape, const BartSpec& spec, const ModelTensors& tensors, DType dtype,
                                     const AdapterOptions& adapters) {
  return std::make_unique<Bart>(tape, spec, tensors, dtype, adapters);
}

}  // namespace memstrata::plan::eager
