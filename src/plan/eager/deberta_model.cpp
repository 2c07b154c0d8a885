#include "plan/eager/deberta_model.h"

#include <fmt/format.h>

#include "plan/eager/layers.h"

namespace memstrata::plan::eager {
namespace {

struct DebertaLayer {
  LinearLayer query, key, value, output, up, down, distance_query, distance_key;
  NormLayer attention_norm, mlp_norm;
};

// Values picked along the last dimension; both inputs are saved.
Tensor Gather(Tape& tape, const Tensor& x, const Tensor& indices, Shape shape) {
  const std::shared_ptr<Node> node = tape.Begin({&x}, {x, indices});
  Tensor result = tape.Empty(std::move(shape), x.dtype);
  tape.Finish(node, result, [](Tape& t, Node& self, const Gradients& gradients) {
    return Gradients{t.Empty(self.edges[0].shape, gradients[0].dtype)};
  });
  return result;
}

Tensor Swapped(const Tensor& x) { return View(x, {x.shape[0], x.shape[2], x.shape[1]}); }

class Deberta final : public EagerModel {
 public:
  Deberta(Tape& tape, const DebertaSpec& spec, const ModelTensors& tensors, DType dtype, const AdapterOptions& adapters)
      : spec_(spec), parameters_(tape, tensors.parameters, tensors.buffers, dtype, adapters) {
    if (adapters.IsUsed()) parameters_.AddAdapters(tape, adapters);
    for (int64_t i = 0; i < spec.layer_count; ++i) {
      const std::string prefix = fmt::format("layers.{}.", i);
      const auto linear = [&](const char* name) { return LinearLayer::Find(parameters_, prefix + name); };
      layers_.push_back({linear("q_proj"), linear("k_proj"), linear("v_proj"), linear("o_proj"), linear("up_proj"),
                         linear("down_proj"), linear(spec.shares_products ? "q_proj" : "distance_q_proj"),
                         linear(spec.shares_products ? "k_proj" : "distance_k_proj"), Norm(prefix + "attention_norm"),
                         Norm(prefix + "mlp_norm")});
    }
  }

  ParameterSet& parameters() override { return parameters_; }

  ModelInputs MakeInputs(Tape& tape, const RunOptions& options) override {
    const Shape shape{options.batch, options.sequence};
    ModelInputs inputs;
    inputs.ids = tape.Empty(shape, DType::kInt64);
    if (options.mask != MaskKind::kNone) inputs.mask = tape.Empty(shape, DType::kInt64);
    if (options.is_training) inputs.labels = tape.Empty(shape, DType::kInt64);
    return inputs;
  }

  ModelOutput Forward(Tape& tape, const ModelInputs& inputs, const RunOptions& options,
                      std::shared_ptr<KvCache>) override {
    ModelOutput output;
    const Tensor mask = inputs.mask.defined() ? inputs.mask : tape.Empty(inputs.ids.shape, DType::kFloat32);
    const Tensor hidden = Encode(tape, Embed(tape, inputs.ids, mask, options), mask, options);
    output.others.push_back(hidden);
    Tensor x = Activate(tape, LinearLayer::Find(parameters_, "head.transform")(tape, hidden), spec_.activation);
    x = Norm("head.norm")(tape, x);
    output.logits = Linear(tape, x, parameters_.Get("text.tokens.weight"), &parameters_.Get("head.bias"));
    output.logits.storage->Relabel(Category::kLogits);
    if (!inputs.labels.defined()) return output;
    const int64_t rows = ElementCount(inputs.labels.shape);
    output.loss = CrossEntropy(tape, View(output.logits, {rows, spec_.vocabulary}), inputs.labels);
    return output;
  }

 private:
  struct Context {  // what every layer of one forward is given
    Tensor mask;
    Tensor positions;  // of keys relative to queries
    Tensor distances;
    double attention_dropout = 0;
  };

  NormLayer Norm(const std::string& name) { return NormLayer::Find(parameters_, name, NormKind::kLayer); }

  Tensor Embed(Tape& tape, const Tensor& ids, const Tensor& mask, const RunOptions& options) {
    const Tensor types = tape.Empty(ids.shape, DType::kInt64);
    Tensor tokens = Embedding(tape, parameters_.Get("text.tokens.weight"), ids);
    NeedGradientToRecompute(parameters_, options, tokens);
    Tensor position;  // zeros where attention alone knows them
    Tensor hidden = tokens;
    if (Parameter* table = parameters_.Find("text.positions.weight")) {
      Tensor index = ids;
      index.shape = {1, ids.shape[1]};
      position = Embedding(tape, *table, index);
      hidden = Add(tape, hidden, position);
    } else {
      position = tape.Empty(tokens.shape, tokens.dtype);
    }
    if (Parameter* table = parameters_.Find("text.token_types.weight"))
      hidden = Add(tape, hidden, Embedding(tape, *table, types));
    hidden = Norm("text.embedding_norm")(tape, hidden);
    Tensor kept = mask;
    kept.shape = {ids.shape[0], ids.shape[1], 1};
    return Dropout(tape, Multiply(tape, hidden, Cast(tape, kept, hidden.dtype)), spec_.dropout);
  }

  Tensor Encode(Tape& tape, Tensor hidden, const Tensor& mask, const RunOptions& options) {
    const int64_t batch = hidden.shape[0], tokens = hidden.shape[1];
    Context context;
    context.attention_dropout = options.is_training ? spec_.attention_dropout : 0;
    context.mask = tape.Empty({batch, 1, tokens, tokens}, mask.dtype);
    if (spec_.distance_rows > 0) {
      context.positions = tape.Empty({1, tokens, tokens}, DType::kInt64);
      context.distances = parameters_.Get("distances.weight").value;
      if (parameters_.Find("distance_norm.weight") != nullptr)
        context.distances = Norm("distance_norm")(tape, context.distances);
    }
    std::vector<Tensor> all{hidden};  // each layer's result is kept until the last one
    for (const DebertaLayer& layer : layers_) {
      if (options.checkpoint == CheckpointKind::kNone) {
        hidden = Layer(tape, layer, hidden, context);
      } else if (options.checkpoint == CheckpointKind::kNonReentrant) {
        hidden = tape.Checkpoint([this, &layer, hidden, context](Tape& t) { return Layer(t, layer, hidden, context); });
      } else {
        hidden = tape.CheckpointReentrant(
            hidden, [this, &layer, context](Tape& t, const Tensor& x) { return Layer(t, layer, x, context); });
      }
      all.push_back(hidden);
    }
    return hidden;
  }

  Tensor Layer(Tape& tape, const DebertaLayer& layer, const Tensor& hidden, const Context& context) const {
    Tensor x = Dropout(tape, layer.output(tape, Attention(tape, layer, hidden, context)), spec_.dropout);
    x = layer.attention_norm(tape, Add(tape, x, hidden));
    const Tensor inner = Activate(tape, layer.up(tape, x), spec_.activation);
    return layer.mlp_norm(tape, Add(tape, Dropout(tape, layer.down(tape, inner), spec_.dropout), x));
  }

  // Copied head by head: [batch · heads, tokens, head].
  Tensor Heads(Tape& tape, const Tensor& x) const {
    Tensor by_token = x;
    by_token.is_contiguous = false;
    return View(Contiguous(tape, by_token), {x.shape[0] * spec_.heads, x.shape[1], spec_.hidden / spec_.heads});
  }

  Tensor Attention(Tape& tape, const DebertaLayer& layer, const Tensor& x, const Context& context) const {
    const Tensor query = Heads(tape, layer.query(tape, x));
    const Tensor key = Heads(tape, layer.key(tape, x));
    const Tensor value = Heads(tape, layer.value(tape, x));
    Tensor scores = BatchMatmul(tape, query, Scale(tape, Swapped(key)));
    Tensor bias;
    if (spec_.distance_rows > 0) bias = DistanceBias(tape, layer, query, key, context);
    if (bias.defined()) scores = Add(tape, scores, bias);
    const Shape by_head{x.shape[0], spec_.heads, x.shape[1], x.shape[1]};
    const Tensor kept = tape.Empty(context.mask.shape, DType::kBool);
    scores = MaskedFill(tape, View(scores, by_head), tape.Empty(context.mask.shape, DType::kBool));
    Tensor weights = Softmax(tape, scores, tape.autocast() ? DType::kFloat32 : scores.dtype);
    weights = View(Dropout(tape, weights, context.attention_dropout), {query.shape[0], x.shape[1], x.shape[1]});
    Tensor result = BatchMatmul(tape, weights, value);
    result.is_contiguous = false;  // seen token by token
    return View(Contiguous(tape, result), x.shape);
  }

  // One table for all samples, written out for each.
  Tensor Distances(Tape& tape, const LinearLayer& product, const Tensor& table, int64_t rows) const {
    const Tensor heads = Heads(tape, product(tape, View(table, {1, spec_.distance_rows, spec_.hidden})));
    const Shape shape{rows, spec_.distance_rows, heads.shape[2]};
    return ExpandCopy(tape, heads, shape, shape);
  }

  // Scores between the tokens of one side and the distances, picked by the distance of each pair.
  Tensor DistanceBias(Tape& tape, const DebertaLayer& layer, const Tensor& query, const Tensor& key,
                      const Context& context) const {
    const int64_t rows = query.shape[0], tokens = query.shape[1];
    const Shape square{rows, tokens, tokens};
    Tensor table = Dropout(tape, context.distances, spec_.dropout);
    table = Slice(tape, table, 0, spec_.distance_rows);
    table.is_contiguous = true;
    Tensor of_queries, of_keys, bias;
    if (spec_.has_position_to_content) of_queries = Distances(tape, layer.distance_query, table, rows);
    if (spec_.has_content_to_position) of_keys = Distances(tape, layer.distance_key, table, rows);
    const auto pick = [&](const Tensor& x, const Tensor& distances) {
      const Tensor shifted = tape.Empty(context.positions.shape, DType::kInt64);
      const Tensor indices = tape.Empty(context.positions.shape, DType::kInt64);
      return Scale(tape, Gather(tape, BatchMatmul(tape, x, Swapped(distances)), indices, square));
    };
    if (spec_.has_content_to_position) bias = AddScalar(tape, pick(query, of_keys));
    if (!spec_.has_position_to_content) return bias;
    Tensor turned = pick(key, of_queries);
    return bias.defined() ? AddInPlace(tape, bias, turned) : AddScalar(tape, turned);
  }

  DebertaSpec spec_;
  ParameterSet parameters_;
  std::vector<DebertaLayer> layers_;
};

}  // namespace

std::unique_ptr<EagerModel> MakeDeberta(Tape& tape, const DebertaSpec& spec, const ModelTensors& tensors, DType dtype,
                                        const AdapterOptions& adapters) {
  return std::make_unique<Deberta>(tape, spec, tensors, dtype, adapters);
}

}  // namespace memstrata::plan::eager
