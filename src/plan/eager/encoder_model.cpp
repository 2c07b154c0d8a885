#include "plan/eager/encoder_model.h"

#include <fmt/format.h>

#include "plan/eager/layers.h"

namespace memstrata::plan::eager {
namespace {

struct EncoderLayer {
  LinearLayer query, key, value, output, up, down;
  NormLayer attention_norm, mlp_norm;
};

class Stack {
 public:
  Stack(ParameterSet& parameters, const EncoderStack& spec) : spec_(spec) {
    for (int64_t i = 0; i < spec.layer_count; ++i) {
      const std::string prefix = fmt::format("{}layers.{}.", spec.prefix, i);
      const auto linear = [&](const char* name) { return LinearLayer::Find(parameters, prefix + name); };
      const auto norm = [&](const char* name) { return NormLayer::Find(parameters, prefix + name, NormKind::kLayer); };
      layers_.push_back({linear("q_proj"), linear("k_proj"), linear("v_proj"), linear("o_proj"), linear("up_proj"),
                         linear("down_proj"), norm("attention_norm"), norm("mlp_norm")});
    }
  }

  Tensor Run(Tape& tape, Tensor hidden, const AttentionCall& call, CheckpointKind checkpoint) const {
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (checkpoint == CheckpointKind::kNone) {
        hidden = LayerOfRank(tape, i, hidden, call);
      } else if (checkpoint == CheckpointKind::kNonReentrant) {
        hidden = tape.Checkpoint([this, i, hidden, call](Tape& t) { return LayerOfRank(t, i, hidden, call); });
      } else {
        hidden = tape.CheckpointReentrant(
            hidden, [this, i, call](Tape& t, const Tensor& x) { return LayerOfRank(t, i, x, call); });
      }
    }
    return hidden;
  }

 private:
  Tensor LayerOfRank(Tape& tape, size_t index, const Tensor& hidden, const AttentionCall& call) const {
    return tape.RunLayer(static_cast<int64_t>(index), hidden,
                         [&](const Tensor& x) { return Layer(tape, layers_[index], x, call); });
  }

  Tensor Layer(Tape& tape, const EncoderLayer& layer, const Tensor& hidden, const AttentionCall& call) const {
    if (spec_.norms_first) {
      Tensor normed = layer.attention_norm(tape, hidden);
      Tensor attention = Attention(tape, layer, normed, call);
      const Tensor residual = Add(tape, attention, hidden);
      if (!spec_.holds_attention_results) normed = attention = Tensor{};
      const Tensor x = layer.mlp_norm(tape, residual);
      return Add(tape, residual, Mlp(tape, layer, x));
    }
    Tensor x = Attention(tape, layer, hidden, call);
    x = layer.attention_norm(tape, Add(tape, x, hidden));
    return layer.mlp_norm(tape, Add(tape, Mlp(tape, layer, x), x));
  }

  Tensor Heads(const Tensor& x) const {
    const int64_t head_dim = spec_.hidden / spec_.heads;
    return Transposed(View(x, {x.shape[0], x.shape[1], spec_.heads, head_dim}),
                      {x.shape[0], spec_.heads, x.shape[1], head_dim});
  }

  Tensor Attention(Tape& tape, const EncoderLayer& layer, const Tensor& x, const AttentionCall& call) const {
    const Tensor query = Heads(layer.query(tape, x));
    const Tensor key = Heads(layer.key(tape, x));
    const Tensor value = Heads(layer.value(tape, x));
    const Tensor output = layer.output(tape, Attend(tape, query, key, value, call));
    return spec_.drops_attention_output ? Dropout(tape, output, spec_.dropout) : output;
  }

  Tensor Mlp(Tape& tape, const EncoderLayer& layer, const Tensor& x) const {
    const Tensor inner = Activate(tape, layer.up(tape, x), spec_.activation);
    return Dropout(tape, layer.down(tape, inner), spec_.dropout);
  }

  EncoderStack spec_;
  std::vector<EncoderLayer> layers_;
};

class Encoder final : public EagerModel {
 public:
  Encoder(Tape& tape, const EncoderSpec& spec, DType dtype, const AdapterOptions& adapters)
      : spec_(spec), parameters_(tape, EncoderParameters(spec), EncoderBuffers(spec), dtype, adapters) {
    if (adapters.IsUsed()) parameters_.AddAdapters(tape, adapters);
    if (spec.text) text_ = std::make_unique<Stack>(parameters_, spec.text_stack);
    if (spec.image) image_ = std::make_unique<Stack>(parameters_, spec.image_stack);
  }

  ParameterSet& parameters() override { return parameters_; }

  ModelInputs MakeInputs(Tape& tape, const RunOptions& options) override {
    ModelInputs inputs;
    if (spec_.text) {
      const Shape shape{options.batch, TextLength(options)};
      inputs.ids = tape.Empty(shape, DType::kInt64);
      if (options.mask != MaskKind::kNone) inputs.mask = tape.Empty(shape, DType::kInt64);
      if (options.is_training && spec_.task == EncoderTask::kMaskedLanguage)
        inputs.labels = tape.Empty(shape, DType::kInt64);
    }
    if (spec_.image) {
      const ImageInput& image = *spec_.image;
      inputs.pixels =
          tape.Empty({options.batch, image.channels, image.image_size, image.image_size}, parameters_.dtype());
      if (options.is_training && spec_.task == EncoderTask::kImageClasses)
        inputs.labels = tape.Empty({options.batch}, DType::kInt64);
    }
    return inputs;
  }

  ModelOutput Forward(Tape& tape, const ModelInputs& inputs, const RunOptions& options,
                      std::shared_ptr<KvCache>) override {
    switch (spec_.task) {
      case EncoderTask::kMaskedLanguage:
        return MaskedLanguage(tape, inputs, options);
      case EncoderTask::kImageClasses:
        return ImageClasses(tape, inputs, options);
      case EncoderTask::kContrast:
        return Contrast(tape, inputs, options);
    }
    return {};
  }

 private:
  int64_t TextLength(const RunOptions& options) const {
    return spec_.task == EncoderTask::kContrast ? spec_.text->position_count : options.sequence;
  }

  static AttentionCall Call(const EncoderStack& stack, const RunOptions& options) {
    AttentionCall call;
    call.kind = options.attention;
    call.is_causal = false;
    call.dropout = options.is_training ? stack.attention_dropout : 0;
    return call;
  }

  NormLayer Norm(const std::string& name) { return NormLayer::Find(parameters_, name, NormKind::kLayer); }

  Tensor EmbedText(Tape& tape, const Tensor& ids) {
    Tensor hidden = Embedding(tape, parameters_.Get("text.tokens.weight"), ids);
    Tensor index = ids;
    index.shape = {1, ids.shape[1]};
    if (Parameter* types = parameters_.Find("text.token_types.weight")) {
      hidden = Add(tape, hidden, Embedding(tape, *types, ids));
      hidden = AddInPlace(tape, hidden, Embedding(tape, parameters_.Get("text.positions.weight"), index));
    } else {
      hidden = Add(tape, hidden, Embedding(tape, parameters_.Get("text.positions.weight"), index));
    }
    return hidden;
  }

  Tensor EmbedImage(Tape& tape, const Tensor& pixels) {
    const ImageInput& image = *spec_.image;
    const int64_t batch = pixels.shape[0];
    const int64_t hidden = spec_.image_stack.hidden;
    Tensor patches = PatchConvolution(tape, pixels, parameters_.Get("image.patches.weight"),
                                      parameters_.Find("image.patches.bias"), image.Grid(), image.Grid());
    patches = Transposed(patches, {batch, image.Grid() * image.Grid(), hidden});
    Tensor extra = parameters_.Get("image.extra_tokens").value;  // one row for all samples
    extra = ExpandView(tape, extra, {batch, image.extra_tokens, hidden});
    const Tensor joined = Cat(tape, {extra, patches}, 1);
    patches = Tensor{};
    return Add(tape, joined, parameters_.Get("image.positions").value);
  }

  // [batch, 1, n, n] in float: one row of allowed keys a sample, written out.
  Tensor PaddingMask(Tape& tape, const RunOptions& options, const Tensor& ids, DType dtype) const {
    const bool is_needed = options.mask == MaskKind::kPadded || (options.attention == AttentionKind::kEager);
    if (!is_needed) return {};
    const int64_t queries =
        options.mask == MaskKind::kPadded && options.attention == AttentionKind::kFused ? ids.shape[1] : 1;
    return tape.Empty({ids.shape[0], 1, queries, ids.shape[1]}, dtype);
  }

  ModelOutput MaskedLanguage(Tape& tape, const ModelInputs& inputs, const RunOptions& options) {
    ModelOutput output;
    Tensor hidden = Norm("text.embedding_norm")(tape, EmbedText(tape, inputs.ids));
    hidden = Dropout(tape, hidden, spec_.text_stack.dropout);
    AttentionCall call = Call(spec_.text_stack, options);
    call.softmax_in_input_dtype = true;
    call.mask = PaddingMask(tape, options, inputs.ids, hidden.dtype);
    hidden = text_->Run(tape, hidden, call, options.checkpoint);
    output.others.push_back(hidden);
    Tensor x = LinearLayer::Find(parameters_, "head.transform")(tape, hidden);
    x = ActivationSavingInput(tape, x);
    x = Norm("head.norm")(tape, x);
    output.logits = Linear(tape, x, parameters_.Get("text.tokens.weight"), &parameters_.Get("head.bias"));
    output.logits.storage->Relabel(Category::kLogits);
    if (!inputs.labels.defined()) return output;
    const int64_t rows = ElementCount(inputs.labels.shape);
    output.loss = CrossEntropy(tape, View(output.logits, {rows, spec_.text->vocabulary}), inputs.labels);
    return output;
  }

  ModelOutput ImageClasses(Tape& tape, const ModelInputs& inputs, const RunOptions& options) {
    ModelOutput output;
    Tensor hidden = Dropout(tape, EmbedImage(tape, inputs.pixels), spec_.image_stack.dropout);
    hidden = image_->Run(tape, hidden, Call(spec_.image_stack, options), options.checkpoint);
    hidden = Norm("image.final_norm")(tape, hidden);
    output.others.push_back(hidden);
    const Tensor first = View(Slice(tape, hidden, 1, 1), {hidden.shape[0], hidden.shape[2]});
    output.logits = LinearLayer::Find(parameters_, "classifier")(tape, first);
    if (inputs.labels.defined()) output.loss = CrossEntropy(tape, output.logits, inputs.labels);
    return output;
  }

  // x / |x|
  Tensor Normalized(Tape& tape, const Tensor& x) {
    Tensor length = MeanOfLast(tape, Power(tape, x));
    length = Power(tape, length);
    return Multiply(tape, x, length);
  }

  ModelOutput Contrast(Tape& tape, const ModelInputs& inputs, const RunOptions& options) {
    ModelOutput output;
    Tensor image = Norm("image.embedding_norm")(tape, EmbedImage(tape, inputs.pixels));
    image = image_->Run(tape, image, Call(spec_.image_stack, options), options.checkpoint);
    output.others.push_back(image);
    Tensor pooled_image = View(Slice(tape, image, 1, 1), {image.shape[0], image.shape[2]});
    pooled_image = Norm("image.final_norm")(tape, pooled_image);

    Tensor text = EmbedText(tape, inputs.ids);
    AttentionCall call = Call(spec_.text_stack, options);
    call.mask = tape.Empty({inputs.ids.shape[0], 1, inputs.ids.shape[1], inputs.ids.shape[1]}, text.dtype);
    text = text_->Run(tape, text, call, options.checkpoint);
    text = Norm("text.final_norm")(tape, text);
    output.others.push_back(text);
    const Tensor pooled_text = View(Slice(tape, text, 1, 1), {text.shape[0], text.shape[2]});

    const Tensor image_vector =
        Normalized(tape, LinearLayer::Find(parameters_, "visual_projection")(tape, pooled_image));
    const Tensor text_vector = Normalized(tape, LinearLayer::Find(parameters_, "text_projection")(tape, pooled_text));
    const Tensor scale = ActivationSavingResult(tape, parameters_.Get("logit_scale").value);
    Tensor logits = BatchMatmul(tape, text_vector, View(image_vector, {image_vector.shape[1], image_vector.shape[0]}));
    output.logits = Multiply(tape, logits, scale);
    if (!options.is_training) return output;
    const Tensor labels = tape.Empty({inputs.ids.shape[0]}, DType::kInt64);
    const Tensor text_loss = CrossEntropy(tape, output.logits, labels);
    const Tensor image_loss = CrossEntropy(tape, Contiguous(tape, output.logits), labels);
    output.loss = Scale(tape, Add(tape, text_loss, image_loss));
    return output;
  }

  EncoderSpec spec_;
  ParameterSet parameters_;
  std::unique_ptr<Stack> text_;
  std::unique_ptr<Stack> image_;
};

}  // namespace

std::unique_ptr<EagerModel> MakeEncoder(Tape& tape, const EncoderSpec& spec, DType dtype,
                                        const AdapterOptions& adapters) {
  return std::make_unique<Encoder>(tape, spec, dtype, adapters);
}

}  // namespace memstrata::plan::eager
