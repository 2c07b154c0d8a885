#include "plan/eager/layers.h"

#include <algorithm>

namespace memstrata::plan::eager {

LinearLayer LinearLayer::Find(ParameterSet& parameters, const std::string& name) {
  LinearLayer layer;
  layer.weight = parameters.Find(name + ".weight");
  layer.bias = parameters.Find(name + ".bias");
  if (layer.weight != nullptr) layer.adapter = parameters.AdapterOf(*layer.weight);
  return layer;
}

Tensor LinearLayer::operator()(Tape& tape, const Tensor& x) const {
  Tensor result = Linear(tape, x, *weight, bias);
  if (adapter == nullptr || adapter->prompt != nullptr) return result;
  if (adapter->scale != nullptr) return Multiply(tape, adapter->scale->value, Add(tape, result, adapter->bias->value));
  const DType dtype = result.dtype;
  const Tensor cast = Cast(tape, x, adapter->down->value.dtype);
  {
    Tensor update = Dropout(tape, cast, adapter->dropout);
    update = Linear(tape, update, *adapter->down, nullptr);
    update = Linear(tape, update, *adapter->up, nullptr);
    update = Scale(tape, update);
    result = Add(tape, result, update);
  }
  return Cast(tape, result, dtype);
}

NormLayer NormLayer::Find(ParameterSet& parameters, const std::string& name, NormKind kind) {
  return {kind, parameters.Find(name + ".weight"), parameters.Find(name + ".bias")};
}

namespace {

Tensor Normalize(Tape& tape, const Tensor& x) {
  Tensor variance = Power(tape, x);
  variance = MeanOfLast(tape, variance);
  variance = AddScalar(tape, variance);
  return Multiply(tape, x, Rsqrt(tape, variance));
}

Tensor RmsNorm(Tape& tape, const Tensor& x0, Parameter& weight) {
  const DType dtype = x0.dtype;
  Tensor x = Cast(tape, x0, DType::kFloat32);
  x = Normalize(tape, x);
  return Multiply(tape, weight.value, Cast(tape, x, dtype));
}

Tensor RmsNormWide(Tape& tape, const Tensor& x, Parameter& weight) {
  return Cast(tape, Multiply(tape, weight.value, Normalize(tape, Cast(tape, x, DType::kFloat32))), x.dtype);
}

// The mean is taken away twice: for the variance, and for the result.
Tensor LayerNormInParts(Tape& tape, const Tensor& x0, Parameter& weight) {
  const Tensor x = Cast(tape, x0, DType::kFloat32);
  const Tensor mean = MeanOfLast(tape, x);
  Tensor variance = MeanOfLast(tape, Power(tape, Add(tape, x, mean)));
  variance = Rsqrt(tape, AddScalar(tape, variance));
  const Tensor normed = Multiply(tape, Add(tape, x, mean), variance);
  return Cast(tape, Multiply(tape, Cast(tape, weight.value, DType::kFloat32), normed), x0.dtype);
}

Tensor LayerNormWide(Tape& tape, const Tensor& x) {
  return Cast(tape, LayerNormKernel(tape, Cast(tape, x, DType::kFloat32), {}, {}), x.dtype);
}

Tensor LayerNormPlusOne(Tape& tape, const Tensor& x, Parameter& weight, Parameter* bias) {
  const auto low = [&](const Tensor& tensor) {
    return tape.autocast() ? Cast(tape, tensor, *tape.autocast()) : tensor;
  };
  const Tensor shifted = AddScalar(tape, weight.value);
  return LayerNormKernel(tape, low(x), low(shifted), bias != nullptr ? low(bias->value) : Tensor{});
}

Tensor RmsNormPlusOne(Tape& tape, const Tensor& x, Parameter& weight) {
  Tensor output = Normalize(tape, Cast(tape, x, DType::kFloat32));
  output = Multiply(tape, output, AddScalar(tape, Cast(tape, weight.value, DType::kFloat32)));
  return Cast(tape, output, x.dtype);
}

}  // namespace

Tensor NormLayer::operator()(Tape& tape, const Tensor& x) const {
  switch (kind) {
    case NormKind::kRms:
      return RmsNorm(tape, x, *weight);
    case NormKind::kRmsWide:
      return RmsNormWide(tape, x, *weight);
    case NormKind::kRmsPlusOne:
      return RmsNormPlusOne(tape, x, *weight);
    case NormKind::kLayer:
      return LayerNorm(tape, x, *weight, bias);
    case NormKind::kLayerWide:
      return LayerNormWide(tape, x);
    case NormKind::kLayerInParts:
      return LayerNormInParts(tape, x, *weight);
    case NormKind::kLayerPlusOne:
      return LayerNormPlusOne(tape, x, *weight, bias);
  }
  return {};
}

Tensor Activate(Tape& tape, const Tensor& x, ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kSavesInput:
      return ActivationSavingInput(tape, x);
    case ActivationKind::kSavesResult:
      return ActivationSavingResult(tape, x);
    case ActivationKind::kGeluNew:
      return GeluNew(tape, x);
    case ActivationKind::kQuickGelu:
      return QuickGelu(tape, x);
    case ActivationKind::kSquaredRelu:
      return Power(tape, ActivationSavingResult(tape, x));
    case ActivationKind::kGeluInParts:
      return GeluInParts(tape, x);
  }
  return {};
}

RotaryTables MakeRotaryTables(Tape& tape, int64_t sequence, int64_t dimension, DType dtype) {
  tape.UseMatrixLibrary();
  const Tensor angles = tape.Empty({1, 1, sequence, dimension}, DType::kFloat32);
  RotaryTables tables;
  const Tensor cosine = tape.Empty({1, 1, sequence, dimension}, DType::kFloat32);
  tables.cosine = tape.Empty({1, 1, sequence, dimension}, DType::kFloat32);
  const Tensor sine = tape.Empty({1, 1, sequence, dimension}, DType::kFloat32);
  tables.sine = tape.Empty({1, 1, sequence, dimension}, DType::kFloat32);
  tables.cosine = Cast(tape, tables.cosine, dtype);
  tables.sine = Cast(tape, tables.sine, dtype);
  return tables;
}

namespace {

Tensor RotateHalf(Tape& tape, const Tensor& x) {
  const int64_t half = x.shape.back() / 2;
  const Tensor first = Slice(tape, x, -1, half);
  const Tensor second = Slice(tape, x, -1, x.shape.back() - half);
  return Cat(tape, {Scale(tape, second), first}, -1);
}

Tensor RotateAll(Tape& tape, const Tensor& x, const RotaryTables& tables) {
  const Tensor straight = Multiply(tape, x, tables.cosine);
  return Add(tape, straight, Multiply(tape, RotateHalf(tape, x), tables.sine));
}

}  // namespace

RotaryTables Interleaved(Tape& tape, const RotaryTables& tables) {
  return {tape.Empty(tables.cosine.shape, tables.cosine.dtype), tape.Empty(tables.sine.shape, tables.sine.dtype)};
}

Tensor ApplyRotary(Tape& tape, const Tensor& x, const RotaryTables& tables, bool concatenates, bool in_float32) {
  if (in_float32) {  // each operand is cast where it is used
    const Tensor straight = Multiply(tape, Cast(tape, x, DType::kFloat32), tables.cosine);
    const Tensor turned = Multiply(tape, Cast(tape, RotateHalf(tape, x), DType::kFloat32), tables.sine);
    return Cast(tape, Add(tape, straight, turned), x.dtype);
  }
  const int64_t rotary = tables.cosine.shape.back();
  const bool turns_all = rotary == x.shape.back();
  if (turns_all && !concatenates) return RotateAll(tape, x, tables);
  const Tensor turned = turns_all ? x : Slice(tape, x, -1, rotary);
  const Tensor passed = Slice(tape, x, -1, x.shape.back() - rotary);
  return Cat(tape, {RotateAll(tape, turned, tables), passed}, -1);
}

Tensor CausalMask(Tape& tape, const RunOptions& options, const Tensor& padding, DType dtype, bool has_cache,
                  int64_t query_count, int64_t key_count, int64_t window, AttentionForm form) {
  const bool is_common = form == AttentionForm::kCommon;
  // Without a mask and without a cache the positions are searched for packed sequences, and the mask is always built.
  const bool is_packed = is_common && options.mask == MaskKind::kNone && !has_cache;
  const bool exceeds_window = window > 0 && key_count >= window;
  const bool is_needed =
      options.attention == AttentionKind::kEager || options.mask == MaskKind::kPadded || is_packed || exceeds_window;
  if (!is_needed) return {};
  const Shape shape{options.batch, 1, query_count, key_count};
  if (!is_common) return tape.Empty(shape, dtype);
  Tensor keep;
  if (padding.defined()) keep = tape.Empty(padding.shape, DType::kBool);
  Tensor mask = tape.Empty({query_count, key_count}, DType::kBool);
  Tensor full = tape.Empty(shape, DType::kBool);
  if (options.attention == AttentionKind::kFused) return full;
  return tape.Empty(shape, dtype);
}

Tensor TokenByToken(Tape& tape, const Tensor& by_head) {
  Tensor copy = by_head;
  copy.is_contiguous = false;
  return Clone(tape, copy);
}

namespace {

Tensor RepeatKv(Tape& tape, const Tensor& x, int64_t heads) {
  if (x.shape[1] == heads) return x;
  const Shape& s = x.shape;
  if (s[1] == 1) {  // one head for all: nothing is written out
    Tensor stretched = ExpandView(tape, x, {s[0], heads, s[2], s[3]});
    stretched.is_contiguous = false;
    return stretched;
  }
  return ExpandCopy(tape, x, {s[0], s[1], heads / s[1], s[2], s[3]}, {s[0], heads, s[2], s[3]});
}

// Heads that are shared are repeated before the products, or stretched by them once autocast has cast them.
Tensor ForProduct(Tape& tape, const Tensor& x, int64_t heads, AttentionForm form) {
  if (form != AttentionForm::kBroadcast) return RepeatKv(tape, x, heads);
  if (x.shape[1] == heads) return x;
  const Tensor low = tape.ToLowPrecision(x);
  const Shape& s = low.shape;
  return ExpandCopy(tape, low, {s[0], s[1], heads / s[1], s[2], s[3]}, {s[0], heads, s[2], s[3]});
}

Tensor EagerAttention(Tape& tape, const Tensor& query, const Tensor& key0, const Tensor& value0,
                      const AttentionCall& call) {
  const bool stretches = call.form == AttentionForm::kBroadcast;
  const Tensor key = ForProduct(tape, key0, query.shape[1], call.form);
  Tensor value = stretches ? value0 : ForProduct(tape, value0, query.shape[1], call.form);
  const Shape& k = key.shape;
  Tensor weights = BatchMatmul(tape, query, View(key, {k[0], k[1], k[3], k[2]}));
  if (!stretches) weights = Scale(tape, weights);  // where heads are stretched it is in place
  if (call.caps_scores) weights = Scale(tape, ActivationSavingResult(tape, Scale(tape, weights)));
  if (call.mask.defined()) weights = Add(tape, weights, call.mask);
  if (call.softmax_in_input_dtype || stretches) {
    weights = Softmax(tape, weights, tape.autocast() ? DType::kFloat32 : weights.dtype);
  } else {
    weights = Cast(tape, Softmax(tape, weights, DType::kFloat32), query.dtype);
  }
  if (stretches) value = ForProduct(tape, value0, query.shape[1], call.form);
  weights = Dropout(tape, weights, call.dropout);
  return TokenByToken(tape, BatchMatmul(tape, weights, value));
}

}  // namespace

Tensor Attend(Tape& tape, const Tensor& query, const Tensor& key, const Tensor& value, const AttentionCall& call) {
  const Shape joined{query.shape[0], query.shape[2], query.shape[1] * value.shape[3]};
  if (IsInPieces(call.form)) return View(AttendInPieces(tape, query, key, value, call), joined);
  if (call.kind == AttentionKind::kEager) return View(EagerAttention(tape, query, key, value, call), joined);
  AttentionOptions options;
  options.is_causal = call.is_causal && !call.mask.defined() && query.shape[2] > 1;
  options.dropout = call.dropout;
  options.mask = call.mask.defined() ? &call.mask : nullptr;
  options.stretches_heads = call.form == AttentionForm::kBroadcast;
  Tensor output;
  const bool repeats = call.form == AttentionForm::kRepeated || (call.mask.defined() && !options.stretches_heads);
  if (repeats) {  // no grouped heads in the kernel that takes masks
    const Tensor all_keys = RepeatKv(tape, key, query.shape[1]);
    const Tensor all_values = RepeatKv(tape, value, query.shape[1]);
    output = ScaledDotProductAttention(tape, query, all_keys, all_values, options);
  } else {
    output = ScaledDotProductAttention(tape, query, key, value, options);
  }
  Tensor by_token = output;  // transposed: contiguous exactly when the kernel wrote token by token
  by_token.is_contiguous = !output.is_contiguous;
  return View(Contiguous(tape, by_token), joined);
}

void GrowCache(Tape& tape, KvCache& cache, const std::vector<int64_t>& lengths_before, int64_t tokens) {
  for (size_t layer = 0; layer < cache.keys.size(); ++layer) {
    const int64_t length = cache.keys[layer].shape[2];
    if (length == lengths_before[layer]) continue;  // of the encoder, or as long as its window
    const int64_t window = cache.windows[layer];
    const int64_t grown = window > 0 ? std::min(length + tokens, window) : length + tokens;
    for (Tensor* held : {&cache.keys[layer], &cache.values[layer]}) {
      Shape shape = held->shape;
      shape[2] = grown;
      *held = tape.Empty(shape, held->dtype, Category::kKvCache);
      if (window > 0) held->shape[2] = std::min(grown, window - 1);  // a view: the storage stays
    }
  }
}

std::vector<int64_t> CacheLengths(const KvCache& cache) {
  std::vector<int64_t> lengths;
  lengths.reserve(cache.keys.size());
  for (const Tensor& keys : cache.keys) lengths.push_back(keys.shape[2]);
  return lengths;
}

std::pair<Tensor, Tensor> UpdateCache(Tape& tape, KvCache& cache, size_t layer, const Tensor& key, const Tensor& value,
                                      int64_t window) {
  if (cache.keys.size() <= layer) {
    cache.keys.resize(layer + 1);
    cache.values.resize(layer + 1);
    cache.windows.resize(layer + 1);
  }
  cache.windows[layer] = window;
  const auto extend = [&](Tensor& held, const Tensor& added) {
    Tensor past = held;
    if (!past.defined()) {  // an empty tensor of the keys' number format, also for the values
      past = View(added, added.shape).Detached();
      past.shape[2] = 0;
      past.dtype = key.dtype;
    }
    Tensor all = Cat(tape, {past, added}, 2);
    all.storage->Relabel(Category::kKvCache);
    held = all;
    if (window > 0 && held.shape[2] > window - 1) held.shape[2] = window - 1;  // a view: the storage stays
    return all;
  };
  Tensor keys = extend(cache.keys[layer], key);
  Tensor values = extend(cache.values[layer], value);
  return {std::move(keys), std::move(values)};
}

namespace {

Tensor ShiftedLabels(Tape& tape, const Tensor& labels) {
  Shape padded_shape = labels.shape;
  padded_shape.back() += 1;
  const Tensor padded = tape.Empty(padded_shape, DType::kInt64);
  return tape.Empty(labels.shape, DType::kInt64);
}

}  // namespace

Tensor CausalLoss(Tape& tape, const Tensor& logits0, const Tensor& labels, LossKind kind) {
  const Tensor logits = kind == LossKind::kFused ? logits0 : Cast(tape, logits0, DType::kFloat32);
  const Tensor shifted = ShiftedLabels(tape, labels);
  const Tensor rows = View(logits, {ElementCount(labels.shape), logits.shape.back()});
  return kind == LossKind::kFused ? FusedCrossEntropy(tape, rows, shifted) : CrossEntropy(tape, rows, shifted);
}

Tensor LossWithoutLogits(Tape& tape, const LinearLayer& head, const Tensor& hidden, const Tensor& labels,
                         LossKind kind) {
  constexpr int64_t kPieces = 8;
  const Tensor shifted = ShiftedLabels(tape, labels);
  if (kind == LossKind::kLinearFused) return LinearCrossEntropy(tape, hidden, *head.weight, shifted);
  const int64_t tokens = ElementCount(labels.shape);
  const int64_t each = (tokens + kPieces - 1) / kPieces;
  const Tensor rows = View(hidden, {tokens, hidden.shape.back()});
  Tensor total;
  for (int64_t first = 0; first < tokens; first += each) {
    const Tensor piece = Slice(tape, rows, 0, std::min(each, tokens - first));
    const Tensor loss = tape.Checkpoint([head, piece](Tape& t) {
      const Tensor logits = Cast(t, head(t, piece), DType::kFloat32);
      const Tensor classes = t.Empty({piece.shape[0]}, DType::kInt64);
      return CrossEntropy(t, logits, classes);
    });
    total = total.defined() ? Add(tape, total, loss) : loss;
  }
  return total;
}

}  // namespace memstrata::plan::eager
