#include "plan/model/weights_file.h"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>

#include "plan/model/gguf_file.h"
#include "plan/model/weights_shards.h"

namespace memstrata::plan {
namespace {

constexpr uint64_t kMaxHeaderBytes = uint64_t{100} << 20;  // the safetensors format's own limit

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
    MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t count, CountStoredElements(tensor.shape));
    if (end < begin || end - begin != (count * bits + 7) / 8) {
      return Fail(ErrorCode::kCorruptInput, fmt::format("The bytes of \"{}\" do not match its shape.", tensor.name));
    }
    header.is_cut |= end > file_bytes - 8 - length;
    tensor.offset = begin;
    tensor.bytes = end - begin;
    MEMSTRATA_TRY(AddStored(header, std::move(tensor)));
  }
  MEMSTRATA_TRY(CheckPlaces(header.tensors, /*may_have_gaps=*/false));
  return header;
}

namespace {

// Which of several files is missing or bad.
Result<WeightsHeader> ReadShard(const std::string& path, size_t shard_count) {
  Result<WeightsHeader> header = ReadHeader(path);
  if (header || shard_count == 1) return header;
  Error error = header.error();
  error.message =
      fmt::format("{}, one of {} shards: {}", path.substr(path.find_last_of('/') + 1), shard_count, error.message);
  return tl::unexpected(std::move(error));
}

// Adds the tensors of one file, but for those that an index does not list there. Each name counts once.
class TensorSum {
 public:
  explicit TensorSum(const WeightsShards& shards) : shards_(shards) {}

  Status Add(const WeightsHeader& header, const std::string& file, ModelDescription& model) {
    for (const StoredTensor& tensor : header.tensors) {
      const auto listed = shards_.file_of_tensor.find(tensor.name);
      const bool is_listed = listed != shards_.file_of_tensor.end() && listed->second == file;
      if (!shards_.file_of_tensor.empty() && !is_listed) {
        ++unlisted_count_;
        continue;
      }
      if (!names_.insert(tensor.name).second)
        return Fail(ErrorCode::kCorruptInput, fmt::format("There are two tensors \"{}\".", tensor.name));
      model.parameters.push_back(ParameterOf(tensor));
      MEMSTRATA_TRY(AddElements(CountElements(model.parameters.back()), model.parameter_count));
      bytes_ += tensor.bytes;
      const Role role = model.parameters.back().role;
      table_bytes_ += role == Role::kEmbedding ? tensor.bytes : 0;
      has_head_ |= role == Role::kHead;
    }
    return {};
  }

  Status Finish(ModelDescription& model) const {
    for (const auto& [name, file] : shards_.file_of_tensor) {
      if (!names_.contains(name))
        return Fail(ErrorCode::kCorruptInput, fmt::format("The index lists \"{}\" in {}, which does not have it.", name,
                                                          file.substr(file.find_last_of('/') + 1)));
    }
    if (unlisted_count_ > 0)
      model.notes.push_back(fmt::format("{} tensor(s) that the index does not list are left out.", unlisted_count_));
    if (shards_.total_bytes && *shards_.total_bytes != bytes_)
      model.notes.push_back(fmt::format("The index says total_size {} B; the tensors that it lists add up to {} B.",
                                        *shards_.total_bytes, bytes_));
    model.stored_weight_bytes = bytes_;
    model.stored_table_bytes = has_head_ ? table_bytes_ : 0;
    return {};
  }

 private:
  const WeightsShards& shards_;
  std::set<std::string> names_;
  uint64_t bytes_ = 0;
  uint64_t table_bytes_ = 0;
  bool has_head_ = false;
  int64_t unlisted_count_ = 0;
};

}  // namespace

Result<ModelDescription> DescribeWeightsFile(const std::string& path) {
  MEMSTRATA_ASSIGN_OR_RETURN(const WeightsShards shards, FindShards(path));
  ModelDescription model;
  model.name = path.substr(path.find_last_of('/') + 1);
  model.source = fmt::format("{} weights file(s)", shards.files.size());
  model.layer_count = 1;
  TensorSum sum(shards);
  GgufMetadata metadata;
  int64_t cut_count = 0;
  for (const std::string& file : shards.files) {
    MEMSTRATA_ASSIGN_OR_RETURN(const WeightsHeader header, ReadShard(file, shards.files.size()));
    MEMSTRATA_TRY(sum.Add(header, file, model));
    cut_count += header.is_cut ? 1 : 0;
    if (!header.metadata.IsEmpty() && metadata.IsEmpty()) metadata = header.metadata;
  }
  MEMSTRATA_TRY(sum.Finish(model));
  if (cut_count > 0)
    model.notes.push_back(
        fmt::format("{} file(s) end before their tensors do; only the headers were used.", cut_count));
  MEMSTRATA_TRY(UseGgufMetadata(metadata, model));
  return model;
}

}  // namespace memstrata::plan
