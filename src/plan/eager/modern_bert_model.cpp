#include "plan/eager/modern_bert_model.h"

#include <fmt/format.h>

#include "plan/eager/layers.h"

namespace memstrata::plan::eager {
namespace {

struct ModernBertLayer {
  LinearLayer qkv, output, gate_up, down;
  NormLayer attention_norm, mlp_norm;
};

// Views of queries, keys and values in one tensor, head by head; together their gradients make one new tensor.
std::vector<Tensor> Unbind(Tape& tape, const Tensor& joined, const Shape& by_head) {
  const std::shared_ptr<Node> node = tape.Begin({&joined}, {});
  std::vector<Tensor> parts;
  for (size_t i = 0; i < 3; ++i) {
    Tensor part = View(joined, by_head);
    part.is_contiguous = false;
    tape.Finish(node, part, [](Tape& t, Node& self, const Gradients& gradients) {
      Tensor stacked = t.Empty(self.edges[0].shape, gradients[0].dtype);
      stacked.is_contiguous = false;  // head by head
      return Gradients{std::move(stacked)};
    });
    part.slot = i;
    parts.push_back(std::move(part));
  }
  if (node) node->output_count = parts.size();
  return parts;
}

// Where Triton is there, the class compiles its MLP and its head. What is between two products is then one kernel and
// computed again in the backward: one half through the activation, times the other.
Tensor GateInOneKernel(Tape& tape, const Tensor& joined, int64_t width) {
  const std::shared_ptr<Node> node = tape.Begin({&joined}, {joined});
  Shape shape = joined.shape;
  shape.back() = width;
  Tensor result = tape.Empty(shape, joined.dtype);
  tape.Finish(node, result, [](Tape& t, Node& self, const Gradients& gradients) {
    return Gradients{t.Empty(self.edges[0].shape, gradients[0].dtype)};
  });
  return result;
}

// The same for an activation and the norm behind it.
Tensor ActivateAndNormInOneKernel(Tape& tape, const Tensor& x, const NormLayer& norm) {
  const Tensor bias = norm.bias != nullptr ? norm.bias->value : Tensor{};
  const std::shared_ptr<Node> node = tape.Begin({&x, &norm.weight->value, &bias}, {x, norm.weight->value});
  Tensor result = tape.Empty(x.shape, tape.autocast() ? DType::kFloat32 : x.dtype);
  Shape rows = x.shape;
  rows.back() = 1;
  tape.Save(node.get(), tape.Empty(rows, DType::kFloat32));
  tape.Save(node.get(), tape.Empty(rows, DType::kFloat32));
  tape.Finish(node, result, [](Tape& t, Node& self, const Gradients&) {
    Gradients out(3);
    for (size_t i = 0; i < 3; ++i) {
      if (self.Needs(i)) out[i] = t.Empty(self.edges[i].shape, self.edges[i].dtype);
    }
    return out;
  });
  return result;
}

class ModernBert final : public EagerModel {
 public:
  ModernBert(Tape& tape, const ModernBertSpec& spec, const ModelTensors& tensors, DType dtype,
             const AdapterOptions& adapters)
      : spec_(spec), parameters_(tape, tensors.parameters, tensors.buffers, dtype, adapters) {
    if (adapters.IsUsed()) parameters_.AddAdapters(tape, adapters);
    for (int64_t i = 0; i < spec.layer_count; ++i) {
      const std::string prefix = fmt::format("layers.{}.", i);
      const auto linear = [&](const char* name) { return LinearLayer::Find(parameters_, prefix + name); };
      layers_.push_back({linear("qkv_proj"), linear("o_proj"), linear("gate_up_proj"), linear("down_proj"),
                         Norm(prefix + "attention_norm"), Norm(prefix + "mlp_norm")});
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
    const Tensor hidden = Encode(tape, inputs, options);
    output.others.push_back(hidden);
    Tensor x = LinearLayer::Find(parameters_, "head.transform")(tape, hidden);
    x = ActivateAndNormInOneKernel(tape, x, Norm("head.norm"));
    output.logits = Linear(tape, x, parameters_.Get("text.tokens.weight"), parameters_.Find("head.bias"));
    output.logits.storage->Relabel(Category::kLogits);
    if (!inputs.labels.defined()) return output;
    const Tensor scores = Cast(tape, output.logits, DType::kFloat32);
    const int64_t rows = ElementCount(inputs.labels.shape);
    output.loss = CrossEntropy(tape, View(scores, {rows, spec_.vocabulary}), inputs.labels);
    return output;
  }

 private:
  NormLayer Norm(const std::string& name) { return NormLayer::Find(parameters_, name, NormKind::kLayer); }

  Tensor Encode(Tape& tape, const ModelInputs& inputs, const RunOptions& options) {
    const int64_t batch = inputs.ids.shape[0], tokens = inputs.ids.shape[1];
    Tensor keep = inputs.mask;
    if (!keep.defined()) keep = tape.Empty(inputs.ids.shape, DType::kBool);
    const Tensor positions = tape.Empty({1, tokens}, DType::kInt64);
    // Both masks are written out for every pair of tokens, whatever the kernel.
    const Tensor mask = tape.Empty({batch, 1, tokens, tokens}, parameters_.dtype());
    const Tensor window_mask = tape.Empty(mask.shape, mask.dtype);
    AttentionCall call;
    call.kind = options.attention;
    call.is_causal = false;
    call.dropout = options.is_training ? spec_.attention_dropout : 0;
    Tensor hidden = Embedding(tape, parameters_.Get("text.tokens.weight"), inputs.ids);
    NeedGradientToRecompute(parameters_, options, hidden);
    hidden = Dropout(tape, Norm("text.embedding_norm")(tape, hidden), spec_.embedding_dropout);
    for (size_t i = 0; i < layers_.size(); ++i) {
      const ModernBertLayer& layer = layers_[i];
      call.mask = static_cast<int64_t>(i) % spec_.every == 0 ? mask : window_mask;
      if (options.checkpoint == CheckpointKind::kNone) {
        hidden = Layer(tape, layer, hidden, call);
      } else if (options.checkpoint == CheckpointKind::kNonReentrant) {
        hidden = tape.Checkpoint([this, &layer, hidden, call](Tape& t) { return Layer(t, layer, hidden, call); });
      } else {
        hidden = tape.CheckpointReentrant(
            hidden, [this, &layer, call](Tape& t, const Tensor& x) { return Layer(t, layer, x, call); });
      }
    }
    return Norm("last_norm")(tape, hidden);
  }

  Tensor Layer(Tape& tape, const ModernBertLayer& layer, const Tensor& input, const AttentionCall& call) const {
    Tensor hidden = input;
    {
      const Tensor normed = layer.attention_norm.weight != nullptr ? layer.attention_norm(tape, input) : input;
      const Tensor attention = layer.output(tape, Attention(tape, layer, normed, call));
      hidden = Add(tape, hidden, Dropout(tape, attention, spec_.attention_dropout));
    }
    const Tensor joined = layer.gate_up(tape, layer.mlp_norm(tape, hidden));
    const Tensor inner = GateInOneKernel(tape, joined, spec_.intermediate);
    return Add(tape, hidden, layer.down(tape, Dropout(tape, inner, spec_.mlp_dropout)));
  }

  Tensor Attention(Tape& tape, const ModernBertLayer& layer, const Tensor& x, const AttentionCall& call) const {
    const int64_t head_dim = spec_.hidden / spec_.heads;
    const Tensor joined = layer.qkv(tape, x);
    const RotaryTables tables = MakeRotaryTables(tape, x.shape[1], head_dim, joined.dtype);  // of each layer
    const std::vector<Tensor> parts = Unbind(tape, joined, {x.shape[0], spec_.heads, x.shape[1], head_dim});
    const Tensor query = ApplyRotary(tape, parts[0], tables, false, false);
    const Tensor key = ApplyRotary(tape, parts[1], tables, false, false);
    return Attend(tape, query, key, parts[2], call);
  }

  ModernBertSpec spec_;
  ParameterSet parameters_;
  std::vector<ModernBertLayer> layers_;
};

}  // namespace

std::unique_ptr<EagerModel> MakeModernBert(Tape& tape, const ModernBertSpec& spec, const ModelTensors& tensors,
                                           DType dtype, const AdapterOptions& adapters) {
  return std::make_unique<ModernBert>(tape, spec, tensors, dtype, adapters);
}

}  // namespace memstrata::plan::eager
