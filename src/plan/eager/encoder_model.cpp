#include "plan/eager/encoder_model.h"

#include "plan/eager/encoder_layers.h"
#include "plan/eager/siglip_parts.h"

namespace memstrata::plan::eager {
namespace {

class Encoder final : public EagerModel {
 public:
  Encoder(Tape& tape, const EncoderSpec& spec, const ModelTensors& tensors, DType dtype, const AdapterOptions& adapters)
      : spec_(spec), parameters_(tape, tensors.parameters, tensors.buffers, dtype, adapters) {
    if (adapters.IsUsed()) parameters_.AddAdapters(tape, adapters);
    if (spec.text) text_ = std::make_unique<EncoderLayers>(parameters_, spec.text_stack);
    if (spec.image) image_ = std::make_unique<EncoderLayers>(parameters_, spec.image_stack);
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
      case EncoderTask::kSigmoidContrast:
        return SigmoidContrast(tape, inputs, options);
    }
    return {};
  }

 private:
  int64_t TextLength(const RunOptions& options) const {
    return spec_.image ? spec_.text->position_count : options.sequence;
  }

  static AttentionCall Call(const EncoderStack& stack, const RunOptions& options) {
    AttentionCall call;
    call.kind = options.attention;
    call.is_causal = false;
    call.dropout = options.is_training ? stack.attention_dropout : 0;
    if (!stack.has_fused_attention) call.kind = AttentionKind::kEager;
    if (stack.has_older_eager && call.kind == AttentionKind::kEager) call.form = AttentionForm::kOlder;
    return call;
  }

  NormLayer Norm(const std::string& name) { return NormLayer::Find(parameters_, name, NormKind::kLayer); }

  Tensor EmbedText(Tape& tape, const Tensor& ids, const RunOptions& options) {
    Tensor hidden = Embedding(tape, parameters_.Get("text.tokens.weight"), ids);
    NeedGradientToRecompute(parameters_, options, hidden);
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

  Tensor EmbedPatches(Tape& tape, const Tensor& pixels, const RunOptions& options) {
    const ImageInput& image = *spec_.image;
    Tensor patches = PatchConvolution(tape, pixels, parameters_.Get("image.patches.weight"),
                                      parameters_.Find("image.patches.bias"), image.Grid(), image.Grid());
    NeedGradientToRecompute(parameters_, options, patches);
    return Transposed(patches, {pixels.shape[0], image.Grid() * image.Grid(), spec_.image_stack.hidden});
  }

  Tensor EmbedImage(Tape& tape, const Tensor& pixels, const RunOptions& options) {
    const ImageInput& image = *spec_.image;
    const int64_t batch = pixels.shape[0];
    const int64_t hidden = spec_.image_stack.hidden;
    Tensor patches = EmbedPatches(tape, pixels, options);
    Tensor extra = parameters_.Get("image.extra_tokens").value;  // one row for all samples
    extra = ExpandView(tape, extra, {batch, image.extra_tokens, hidden});
    const Tensor joined = Cat(tape, {extra, patches}, 1);
    patches = Tensor{};
    return Add(tape, joined, parameters_.Get("image.positions").value);
  }

  // [batch, 1, n, n] in float: one row of allowed keys a sample, written out.
  Tensor PaddingMask(Tape& tape, const RunOptions& options, const Tensor& ids, DType dtype) const {
    const bool is_eager = options.attention == AttentionKind::kEager || !spec_.text_stack.has_fused_attention;
    if (options.mask != MaskKind::kPadded && !is_eager) return {};
    const int64_t queries = is_eager ? 1 : ids.shape[1];
    return tape.Empty({ids.shape[0], 1, queries, ids.shape[1]}, dtype);
  }

  ModelOutput MaskedLanguage(Tape& tape, const ModelInputs& inputs, const RunOptions& options) {
    ModelOutput output;
    Tensor hidden = Norm("text.embedding_norm")(tape, EmbedText(tape, inputs.ids, options));
    hidden = Dropout(tape, hidden, spec_.text_stack.dropout);
    if (spec_.text->is_projected) hidden = LinearLayer::Find(parameters_, "embedding_projection")(tape, hidden);
    AttentionCall call = Call(spec_.text_stack, options);
    call.softmax_in_input_dtype = true;
    call.mask = PaddingMask(tape, options, inputs.ids, hidden.dtype);
    hidden = text_->Run(tape, hidden, call, options.checkpoint);
    output.others.push_back(hidden);
    Tensor x = LinearLayer::Find(parameters_, "head.transform")(tape, hidden);
    x = Activate(tape, x, spec_.head_activation);
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
    Tensor hidden = Dropout(tape, EmbedImage(tape, inputs.pixels, options), spec_.image_stack.dropout);
    hidden = image_->Run(tape, hidden, Call(spec_.image_stack, options), options.checkpoint);
    hidden = Norm("image.final_norm")(tape, hidden);
    output.others.push_back(hidden);
    Tensor first = View(Slice(tape, hidden, 1, 1), {hidden.shape[0], hidden.shape[2]});
    if (spec_.image->classifies_mean) {
      const Tensor patches = Slice(tape, hidden, 1, hidden.shape[1] - 1);
      first = Cat(tape, {first, View(MeanOver(tape, patches, 1), first.shape)}, 1);
    }
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
    Tensor image = Norm("image.embedding_norm")(tape, EmbedImage(tape, inputs.pixels, options));
    image = image_->Run(tape, image, Call(spec_.image_stack, options), options.checkpoint);
    output.others.push_back(image);
    Tensor pooled_image = View(Slice(tape, image, 1, 1), {image.shape[0], image.shape[2]});
    pooled_image = Norm("image.final_norm")(tape, pooled_image);

    Tensor text = EmbedText(tape, inputs.ids, options);
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

  ModelOutput SigmoidContrast(Tape& tape, const ModelInputs& inputs, const RunOptions& options) {
    ModelOutput output;
    Tensor index = inputs.ids;
    index.shape = {1, spec_.image->Tokens()};
    Tensor image = EmbedPatches(tape, inputs.pixels, options);
    image = Add(tape, image, Embedding(tape, parameters_.Get("image.positions.weight"), index));
    image = image_->Run(tape, image, Call(spec_.image_stack, options), options.checkpoint);
    image = Norm("image.final_norm")(tape, image);
    output.others.push_back(image);
    Tensor pooled_image;
    if (spec_.image->pools_by_attention) pooled_image = PoolByAttention(tape, parameters_, spec_.image_stack, image);

    Tensor text = EmbedText(tape, inputs.ids, options);
    AttentionCall call = Call(spec_.text_stack, options);
    if (inputs.mask.defined())
      call.mask = tape.Empty({inputs.ids.shape[0], 1, inputs.ids.shape[1], inputs.ids.shape[1]}, text.dtype);
    text = text_->Run(tape, text, call, options.checkpoint);
    text = Norm("text.final_norm")(tape, text);
    output.others.push_back(text);
    Tensor pooled_text = View(Slice(tape, text, 1, 1), {text.shape[0], text.shape[2]});
    pooled_text = LinearLayer::Find(parameters_, "text.projection")(tape, pooled_text);

    const Tensor image_vector = Normalized(tape, pooled_image);
    const Tensor text_vector = Normalized(tape, pooled_text);
    const Tensor scale = ActivationSavingResult(tape, parameters_.Get("logit_scale").value);
    const Tensor logits =
        BatchMatmul(tape, text_vector, View(image_vector, {image_vector.shape[1], image_vector.shape[0]}));
    output.logits = Add(tape, Multiply(tape, logits, scale), parameters_.Get("logit_bias").value);
    if (options.is_training) output.loss = MeanOver(tape, ActivationSavingInput(tape, output.logits), 0);
    return output;
  }

  EncoderSpec spec_;
  ParameterSet parameters_;
  std::unique_ptr<EncoderLayers> text_;
  std::unique_ptr<EncoderLayers> image_;
};

}  // namespace

std::unique_ptr<EagerModel> MakeEncoder(Tape& tape, const EncoderSpec& spec, const ModelTensors& tensors, DType dtype,
                                        const AdapterOptions& adapters) {
  return std::make_unique<Encoder>(tape, spec, tensors, dtype, adapters);
}

}  // namespace memstrata::plan::eager
