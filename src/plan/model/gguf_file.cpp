#include "plan/model/gguf_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "plan/model/gguf_types.h"

namespace memstrata::plan {
namespace {

constexpr uint64_t kMaxTensors = uint64_t{1} << 20;
constexpr uint64_t kMaxListed = 4096;
constexpr size_t kMaxTextBytes = 256;

// Little-endian values of the header, with bounds.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  Result<T> Take() {
    T value;
    if (bytes_.size() - position_ < sizeof(T))
      return Fail(ErrorCode::kTruncatedInput, "The header ends too early.", position_);
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }
  Result<std::string_view> TakeText() {
    MEMSTRATA_ASSIGN_OR_RETURN(const auto length, Take<uint64_t>());
    if (length > bytes_.size() - position_)
      return Fail(ErrorCode::kTruncatedInput, "A text of the header ends too early.", position_);
    const std::string_view text = bytes_.substr(position_, length);
    position_ += length;
    return text;
  }
  Status Skip(uint64_t count) {
    if (count > bytes_.size() - position_)
      return Fail(ErrorCode::kTruncatedInput, "The header ends too early.", position_);
    position_ += count;
    return {};
  }

 private:
  std::string_view bytes_;
  size_t position_ = 0;
};

enum GgufValueType : uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kText,
  kArray,
  kUint64,
  kInt64,
  kFloat64
};

template <class T>
Result<double> TakeAs(Cursor& cursor) {
  MEMSTRATA_ASSIGN_OR_RETURN(const T value, cursor.Take<T>());
  return static_cast<double>(value);
}

Result<double> TakeNumber(Cursor& cursor, uint32_t type) {
  switch (type) {
    case kUint8:
    case kBool:
      return TakeAs<uint8_t>(cursor);
    case kInt8:
      return TakeAs<int8_t>(cursor);
    case kUint16:
      return TakeAs<uint16_t>(cursor);
    case kInt16:
      return TakeAs<int16_t>(cursor);
    case kUint32:
      return TakeAs<uint32_t>(cursor);
    case kInt32:
      return TakeAs<int32_t>(cursor);
    case kFloat32:
      return TakeAs<float>(cursor);
    case kUint64:
      return TakeAs<uint64_t>(cursor);
    case kInt64:
      return TakeAs<int64_t>(cursor);
    case kFloat64:
      return TakeAs<double>(cursor);
    default:
      return Fail(ErrorCode::kCorruptInput, fmt::format("Metadata type {} is not known.", type));
  }
}

// Arrays of arrays are refused.
Status TakeArray(Cursor& cursor, const std::string& key, GgufMetadata& metadata) {
  MEMSTRATA_ASSIGN_OR_RETURN(const auto type, cursor.Take<uint32_t>());
  MEMSTRATA_ASSIGN_OR_RETURN(const auto count, cursor.Take<uint64_t>());
  if (type == kArray || count > kMostStoredElements)
    return Fail(ErrorCode::kCorruptInput, "An array of the metadata has an unknown type or length.");
  metadata.lengths[key] = count;
  for (uint64_t i = 0; i < count; ++i) {
    if (type == kText) {
      MEMSTRATA_TRY(cursor.TakeText());
      continue;
    }
    MEMSTRATA_ASSIGN_OR_RETURN(const double value, TakeNumber(cursor, type));
    if (count <= kMaxListed) metadata.lists[key].push_back(value);
  }
  return {};
}

Status TakeValue(Cursor& cursor, const std::string& key, GgufMetadata& metadata) {
  MEMSTRATA_ASSIGN_OR_RETURN(const auto type, cursor.Take<uint32_t>());
  if (type == kArray) return TakeArray(cursor, key, metadata);
  if (type == kText) {
    MEMSTRATA_ASSIGN_OR_RETURN(const std::string_view text, cursor.TakeText());
    if (text.size() <= kMaxTextBytes) metadata.texts[key] = std::string(text);
    return {};
  }
  MEMSTRATA_ASSIGN_OR_RETURN(metadata.numbers[key], TakeNumber(cursor, type));
  return {};
}

Result<StoredTensor> TakeTensor(Cursor& cursor) {
  StoredTensor tensor;
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string_view name, cursor.TakeText());
  tensor.name = std::string(name);
  MEMSTRATA_ASSIGN_OR_RETURN(const auto rank, cursor.Take<uint32_t>());
  if (rank > 4)
    return Fail(ErrorCode::kCorruptInput, fmt::format("A tensor has {} dimensions; GGUF knows at most 4.", rank));
  for (uint32_t i = 0; i < rank; ++i) {
    MEMSTRATA_ASSIGN_OR_RETURN(const auto size, cursor.Take<uint64_t>());
    tensor.shape.push_back(static_cast<int64_t>(std::min<uint64_t>(size, kMostStoredElements + 1)));
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const auto number, cursor.Take<uint32_t>());
  MEMSTRATA_ASSIGN_OR_RETURN(tensor.offset, cursor.Take<uint64_t>());
  const GgufType* type = FindGgufType(number);
  if (type == nullptr)
    return Fail(ErrorCode::kUnsupportedFormat,
                fmt::format("Tensor type {} of \"{}\" is not known.", number, tensor.name));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t count, CountStoredElements(tensor.shape));
  tensor.type = type->name;
  tensor.bytes = (count + type->block_elements - 1) / type->block_elements * type->block_bytes;
  return tensor;
}

// Sizes of a model, as the metadata give them for one layer.
class Sizes {
 public:
  explicit Sizes(const GgufMetadata& metadata) : metadata_(metadata) {}

  /// A whole number from 0 to 2^20, or `otherwise`; anything else makes the sizes bad.
  int64_t Of(std::string_view key, size_t layer, int64_t otherwise) {
    const std::optional<double> value = metadata_.Number(key, layer);
    if (!value) return otherwise;
    const bool is_size = *value >= 0 && *value <= static_cast<double>(ConfigJson::kLargestSize);
    is_bad_ |= !is_size;
    return is_size ? static_cast<int64_t>(*value) : 0;
  }
  bool is_bad() const { return is_bad_; }

 private:
  const GgufMetadata& metadata_;
  bool is_bad_ = false;
};

// Which layers have the window where the file does not list them: all but every n-th.
int64_t WindowPeriod(const std::string& architecture) {
  if (architecture == "gemma2" || architecture == "gpt-oss") return 2;
  if (architecture == "gemma3" || architecture == "gemma3n") return 6;
  return architecture == "cohere2" || architecture == "llama4" ? 4 : 1;
}

bool Slides(const GgufMetadata& metadata, size_t layer) {
  const std::string architecture = metadata.Architecture();
  const auto listed = metadata.lists.find(architecture + ".attention.sliding_window_pattern");
  if (listed != metadata.lists.end() && layer < listed->second.size()) return listed->second[layer] != 0;
  const double usual = static_cast<double>(WindowPeriod(architecture));
  const auto period =
      static_cast<size_t>(std::clamp(metadata.Number("attention.sliding_window_pattern").value_or(usual), 1.0, 4096.0));
  return period == 1 || (layer + 1) % period != 0;
}

CacheLayer LayerOf(const GgufMetadata& metadata, size_t layer, Sizes& sizes) {
  const int64_t heads = std::max<int64_t>(1, sizes.Of("attention.head_count", layer, 1));
  const int64_t kv_heads = sizes.Of("attention.head_count_kv", layer, heads);
  const int64_t head_dim = sizes.Of("embedding_length", layer, 0) / heads;
  const int64_t latent = sizes.Of("attention.kv_lora_rank", layer, 0);
  const int64_t window = sizes.Of("attention.sliding_window", layer, 0);
  const int64_t inner = sizes.Of("ssm.inner_size", layer, 0);
  const int64_t full_every = sizes.Of("full_attention_interval", layer, 0);
  const bool is_linear = full_every > 0 && (static_cast<int64_t>(layer) + 1) % full_every != 0;
  CacheLayer cache;
  if (inner > 0 && (kv_heads == 0 || is_linear)) {
    const int64_t state = sizes.Of("ssm.state_size", layer, 0);
    const int64_t groups = sizes.Of("ssm.group_count", layer, 0);
    const int64_t kernel = std::max<int64_t>(1, sizes.Of("ssm.conv_kernel", layer, 1));
    cache.kind = CacheLayer::Kind::kState;
    cache.state_elements = (kernel - 1) * (inner + 2 * groups * state) + inner * state;
  } else if (kv_heads == 0) {
    cache.kind = CacheLayer::Kind::kNone;
  } else if (latent > 0) {
    cache = {CacheLayer::Kind::kLatent, 1, latent, sizes.Of("rope.dimension_count", layer, 0), 0, 0};
  } else {
    const bool slides = window > 0 && Slides(metadata, layer);
    const int64_t key_dim = sizes.Of("attention.key_length", layer, head_dim);
    cache = {slides ? CacheLayer::Kind::kSliding : CacheLayer::Kind::kFull,
             kv_heads,
             key_dim,
             sizes.Of("attention.value_length", layer, head_dim),
             slides ? window : 0,
             0};
  }
  return cache;
}

}  // namespace

std::string GgufMetadata::Architecture() const {
  const auto found = texts.find("general.architecture");
  return found == texts.end() ? "" : found->second;
}

std::optional<double> GgufMetadata::Number(std::string_view key, size_t layer) const {
  const std::string name = fmt::format("{}.{}", Architecture(), key);
  if (const auto found = numbers.find(name); found != numbers.end()) return found->second;
  const auto list = lists.find(name);
  if (list == lists.end() || layer >= list->second.size()) return std::nullopt;
  return list->second[layer];
}

Result<WeightsHeader> ParseGguf(std::string_view head, uint64_t file_bytes) {
  Cursor cursor(head);
  MEMSTRATA_ASSIGN_OR_RETURN(const auto magic, cursor.Take<uint32_t>());
  if (magic != 0x46554747) return Fail(ErrorCode::kUnsupportedFormat, "This is no GGUF file.", 0);
  MEMSTRATA_ASSIGN_OR_RETURN(const auto version, cursor.Take<uint32_t>());
  if (version < 2 || version > 3)
    return Fail(ErrorCode::kUnsupportedFormat, fmt::format("GGUF version {} is not read.", version), 4);
  MEMSTRATA_ASSIGN_OR_RETURN(const auto tensor_count, cursor.Take<uint64_t>());
  MEMSTRATA_ASSIGN_OR_RETURN(const auto key_count, cursor.Take<uint64_t>());
  if (tensor_count > kMaxTensors || key_count > kMaxTensors)
    return Fail(ErrorCode::kLimitExceeded, "The header names more than 2^20 tensors or keys.");
  WeightsHeader header;
  for (uint64_t i = 0; i < key_count; ++i) {
    MEMSTRATA_ASSIGN_OR_RETURN(const std::string_view key, cursor.TakeText());
    MEMSTRATA_TRY(TakeValue(cursor, std::string(key.substr(0, kMaxTextBytes)), header.metadata));
  }
  for (uint64_t i = 0; i < tensor_count; ++i) {
    MEMSTRATA_ASSIGN_OR_RETURN(StoredTensor tensor, TakeTensor(cursor));
    MEMSTRATA_TRY(AddStored(header, std::move(tensor)));
  }
  MEMSTRATA_TRY(CheckPlaces(header.tensors, /*may_have_gaps=*/true));  // tensors begin at multiples of 32 bytes
  header.is_cut = header.total_bytes > file_bytes;
  return header;
}

Status UseGgufMetadata(const GgufMetadata& metadata, ModelDescription& model) {
  constexpr const char* kBadSizes = "The metadata name a size that is negative or beyond 2^20.";
  Sizes sizes(metadata);
  const int64_t layers = sizes.Of("block_count", 0, 0);
  const int64_t hidden = sizes.Of("embedding_length", 0, 0);
  if (sizes.is_bad()) return Fail(ErrorCode::kCorruptInput, kBadSizes);
  if (layers == 0 || hidden == 0 || !metadata.Number("attention.head_count")) return {};
  constexpr double kMostPositions = 0x1p40;
  if (layers > ConfigJson::kMostLayers)
    return Fail(ErrorCode::kCorruptInput, fmt::format("The metadata name {} layers; at most {} are planned for.",
                                                      layers, ConfigJson::kMostLayers));
  model.layer_count = layers;
  model.hidden = hidden;
  model.max_positions =
      static_cast<int64_t>(std::clamp(metadata.Number("context_length").value_or(0), 0.0, kMostPositions));
  const auto words = metadata.lengths.find("tokenizer.ggml.tokens");
  model.vocabulary = sizes.Of("vocab_size", 0,
                              words == metadata.lengths.end()
                                  ? 0
                                  : static_cast<int64_t>(std::min<uint64_t>(words->second, ConfigJson::kLargestSize)));
  for (size_t layer = 0; layer < static_cast<size_t>(layers); ++layer)
    model.cache.push_back(LayerOf(metadata, layer, sizes));
  model.source += fmt::format(", layers by its metadata ({})", metadata.Architecture());
  if (sizes.is_bad()) return Fail(ErrorCode::kCorruptInput, kBadSizes);
  return {};
}

}  // namespace memstrata::plan
