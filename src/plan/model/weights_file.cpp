#include "plan/model/weights_file.h"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <set>

#include "plan/model/gguf_types.h"

namespace memstrata::plan {
namespace {

constexpr uint64_t kMaxHeaderBytes = uint64_t{100} << 20;  // the safetensors format's own limit
constexpr uint64_t kMaxTensors = uint64_t{1} << 20;
constexpr uint64_t kMaxElements = uint64_t{1} << 50;

uint64_t SafetensorsBits(std::string_view type) {
  static constexpr std::pair<std::string_view, uint64_t> kBits[] = {
      {"F64", 64},    {"I64", 64},    {"U64", 64},    {"C64", 64},    {"F32", 32},    {"I32", 32}, {"U32", 32},
      {"F16", 16},    {"BF16", 16},   {"I16", 16},    {"U16", 16},    {"I8", 8},      {"U8", 8},   {"BOOL", 8},
      {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4}};
  for (const auto& [name, bits] : kBits) {
    if (name == type) return bits;
  }
  return 0;
}

Result<uint64_t> Elements(const std::vector<int64_t>& shape) {
  uint64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0 || (size > 0 && count > kMaxElements / static_cast<uint64_t>(size))) {
      return Fail(ErrorCode::kCorruptInput, "A tensor's shape is negative or beyond 2^50 elements.");
    }
    count *= static_cast<uint64_t>(size);
  }
  return count;
}

Status Add(WeightsHeader& header, StoredTensor tensor) {
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t count, Elements(tensor.shape));
  header.total_bytes += tensor.bytes;
  header.parameter_count += static_cast<int64_t>(count);
  header.tensors.push_back(std::move(tensor));
  return {};
}

// Little-endian values of a GGUF header, with bounds.
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
  Result<std::string> TakeText() {
    MEMSTRATA_ASSIGN_OR_RETURN(const auto length, Take<uint64_t>());
    if (length > bytes_.size() - position_)
      return Fail(ErrorCode::kTruncatedInput, "A text of the header ends too early.", position_);
    std::string text(bytes_.substr(position_, length));
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

constexpr uint32_t kGgufText = 8;
constexpr uint32_t kGgufArray = 9;

uint64_t GgufScalarBytes(uint32_t type) {
  constexpr uint64_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return type < std::size(kBytes) ? kBytes[type] : 0;
}

// A value of the metadata; arrays of arrays are refused.
Status SkipGgufValue(Cursor& cursor, uint32_t type) {
  if (type == kGgufText) {
    MEMSTRATA_TRY(cursor.TakeText());
    return {};
  }
  if (type != kGgufArray) {
    if (GgufScalarBytes(type) == 0)
      return Fail(ErrorCode::kCorruptInput, fmt::format("Metadata type {} is not known.", type));
    return cursor.Skip(GgufScalarBytes(type));
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const auto element_type, cursor.Take<uint32_t>());
  MEMSTRATA_ASSIGN_OR_RETURN(const auto count, cursor.Take<uint64_t>());
  if (element_type == kGgufText) {
    for (uint64_t i = 0; i < count; ++i) MEMSTRATA_TRY(cursor.TakeText());
    return {};
  }
  const uint64_t each = GgufScalarBytes(element_type);
  if (each == 0 || count > kMaxElements)
    return Fail(ErrorCode::kCorruptInput, "An array of the metadata has an unknown type or length.");
  return cursor.Skip(each * count);
}

Result<StoredTensor> TakeGgufTensor(Cursor& cursor) {
  StoredTensor tensor;
  MEMSTRATA_ASSIGN_OR_RETURN(tensor.name, cursor.TakeText());
  MEMSTRATA_ASSIGN_OR_RETURN(const auto rank, cursor.Take<uint32_t>());
  if (rank > 4)
    return Fail(ErrorCode::kCorruptInput, fmt::format("A tensor has {} dimensions; GGUF knows at most 4.", rank));
  for (uint32_t i = 0; i < rank; ++i) {
    MEMSTRATA_ASSIGN_OR_RETURN(const auto size, cursor.Take<uint64_t>());
    tensor.shape.push_back(static_cast<int64_t>(std::min<uint64_t>(size, kMaxElements + 1)));
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const auto number, cursor.Take<uint32_t>());
  MEMSTRATA_TRY(cursor.Skip(8));  // offset
  const GgufType* type = FindGgufType(number);
  if (type == nullptr)
    return Fail(ErrorCode::kUnsupportedFormat,
                fmt::format("Tensor type {} of \"{}\" is not known.", number, tensor.name));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t count, Elements(tensor.shape));
  tensor.type = type->name;
  tensor.bytes = (count + type->block_elements - 1) / type->block_elements * type->block_bytes;
  return tensor;
}

Result<WeightsHeader> ReadHeader(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) return Fail(ErrorCode::kNotFound, "The file does not exist or cannot be read.");
  if (std::fseek(file.get(), 0, SEEK_END) != 0) return Fail(ErrorCode::kIo, "The file cannot be measured.");
  const auto size = static_cast<uint64_t>(std::max(0L, std::ftell(file.get())));
  std::rewind(file.get());
  std::string head(std::min<uint64_t>(size, kMaxHeaderBytes + 8), '\0');
  head.resize(std::fread(head.data(), 1, head.size(), file.get()));
  return path.ends_with(".gguf") ? ParseGguf(head, size) : ParseSafetensors(head, size);
}

// The shards that an index names, each once, in order.
Result<std::set<std::string>> ShardsOfIndex(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) return Fail(ErrorCode::kNotFound, "The file does not exist or cannot be read.");
  std::string text(size_t{64} << 20, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (json.HasParseError() || !json.IsObject() || !json.HasMember("weight_map") || !json["weight_map"].IsObject()) {
    return Fail(ErrorCode::kCorruptInput, "An index of shards is a JSON object with \"weight_map\".");
  }
  std::set<std::string> names;
  for (const auto& member : json["weight_map"].GetObject()) {
    if (!member.value.IsString())
      return Fail(ErrorCode::kCorruptInput, "\"weight_map\" must name a file for each tensor.");
    std::string name(member.value.GetString(), member.value.GetStringLength());
    if (name.find('/') != std::string::npos)
      return Fail(ErrorCode::kCorruptInput, "A shard must lie beside its index.");
    names.insert(std::move(name));
  }
  return names;
}

}  // namespace

Result<WeightsHeader> ParseSafetensors(std::string_view head, uint64_t file_bytes) {
  if (head.size() < 8)
    return Fail(ErrorCode::kTruncatedInput, "A safetensors file starts with 8 bytes of length; this one is shorter.",
                0);
  uint64_t length = 0;
  std::memcpy(&length, head.data(), 8);
  if (length > kMaxHeaderBytes || length > head.size() - 8)
    return Fail(ErrorCode::kCorruptInput, "The header's length is beyond the file or 100 MiB.", 0);
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag>(head.data() + 8, length);
  if (json.HasParseError() || !json.IsObject())
    return Fail(ErrorCode::kCorruptInput, "The header is not a JSON object.", 8 + json.GetErrorOffset());
  WeightsHeader header;
  for (const auto& member : json.GetObject()) {
    StoredTensor tensor;
    tensor.name.assign(member.name.GetString(), member.name.GetStringLength());
    if (tensor.name == "__metadata__") continue;
    const rapidjson::Value& value = member.value;
    const bool is_tensor = value.IsObject() && value.HasMember("dtype") && value["dtype"].IsString() &&
                           value.HasMember("shape") && value["shape"].IsArray() && value.HasMember("data_offsets") &&
                           value["data_offsets"].IsArray() && value["data_offsets"].Size() == 2 &&
                           value["data_offsets"][0].IsUint64() && value["data_offsets"][1].IsUint64();
    if (!is_tensor)
      return Fail(ErrorCode::kCorruptInput,
                  fmt::format("The entry of \"{}\" lacks dtype, shape or data_offsets.", tensor.name));
    tensor.type = value["dtype"].GetString();
    for (const rapidjson::Value& size : value["shape"].GetArray()) {
      if (!size.IsInt64())
        return Fail(ErrorCode::kCorruptInput, fmt::format("The shape of \"{}\" is not of whole numbers.", tensor.name));
      tensor.shape.push_back(size.GetInt64());
    }
    const uint64_t begin = value["data_offsets"][0].GetUint64();
    const uint64_t end = value["data_offsets"][1].GetUint64();
    const uint64_t bits = SafetensorsBits(tensor.type);
    if (bits == 0)
      return Fail(ErrorCode::kUnsupportedFormat,
                  fmt::format("The type {} of \"{}\" is not known.", tensor.type, tensor.name));
    MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t count, Elements(tensor.shape));
    if (end < begin || end > file_bytes - 8 - length || end - begin != (count * bits + 7) / 8) {
      return Fail(ErrorCode::kCorruptInput,
                  fmt::format("The bytes of \"{}\" do not match its shape or lie outside the file.", tensor.name));
    }
    tensor.bytes = end - begin;
    MEMSTRATA_TRY(Add(header, std::move(tensor)));
  }
  return header;
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
  for (uint64_t i = 0; i < key_count; ++i) {
    MEMSTRATA_TRY(cursor.TakeText());
    MEMSTRATA_ASSIGN_OR_RETURN(const auto type, cursor.Take<uint32_t>());
    MEMSTRATA_TRY(SkipGgufValue(cursor, type));
  }
  WeightsHeader header;
  for (uint64_t i = 0; i < tensor_count; ++i) {
    MEMSTRATA_ASSIGN_OR_RETURN(StoredTensor tensor, TakeGgufTensor(cursor));
    MEMSTRATA_TRY(Add(header, std::move(tensor)));
  }
  if (header.total_bytes > file_bytes) return Fail(ErrorCode::kTruncatedInput, "The file is smaller than its tensors.");
  return header;
}

Result<ModelDescription> DescribeWeightsFile(const std::string& path) {
  std::vector<std::string> files{path};
  if (path.ends_with(".index.json")) {
    MEMSTRATA_ASSIGN_OR_RETURN(const std::set<std::string> shards, ShardsOfIndex(path));
    const std::string folder = path.substr(0, path.find_last_of('/') + 1);
    files.clear();
    for (const std::string& shard : shards) files.push_back(folder + shard);
  }
  ModelDescription model;
  model.name = path.substr(path.find_last_of('/') + 1);
  model.source = fmt::format("{} weights file(s)", files.size());
  uint64_t bytes = 0;
  for (const std::string& file : files) {
    MEMSTRATA_ASSIGN_OR_RETURN(const WeightsHeader header, ReadHeader(file));
    for (const StoredTensor& tensor : header.tensors) {
      model.parameters.push_back({tensor.name, tensor.shape, Role::kReplicatedLinear, 0});
    }
    bytes += header.total_bytes;
    model.parameter_count += header.parameter_count;
  }
  model.stored_weight_bytes = bytes;
  model.layer_count = 1;
  model.notes.push_back("A weights file says nothing of layers and heads: activations and cache are not planned.");
  return model;
}

}  // namespace memstrata::plan
