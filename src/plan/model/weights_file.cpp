#include "plan/model/weights_file.h"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>

#include "plan/model/gguf_file.h"

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
  std::vector<std::pair<uint64_t, uint64_t>> ranges;  // of the tensors' bytes
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
    if (end > begin) ranges.emplace_back(begin, end);
    tensor.bytes = end - begin;
    MEMSTRATA_TRY(AddStored(header, std::move(tensor)));
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second)
      return Fail(ErrorCode::kCorruptInput, "Two tensors lie on the same bytes, which the format does not allow.");
  }
  return header;
}

namespace {

// A file is cut into "NAME-00001-of-00003.gguf" (or .safetensors) and so on; any of them stands for all.
std::vector<std::string> ShardsBeside(const std::string& path) {
  constexpr size_t kNumbers = std::string_view("00001-of-00003").size();
  constexpr int kMostShards = 4096;
  const size_t dot = path.find_last_of('.');
  int number = 0;
  int count = 0;
  const bool is_shard = dot != std::string::npos && dot > kNumbers && path[dot - kNumbers - 1] == '-' &&
                        std::sscanf(path.c_str() + dot - kNumbers, "%5d-of-%5d.", &number, &count) == 2;
  if (!is_shard || count < 1 || count > kMostShards) return {path};
  std::vector<std::string> files;
  for (int i = 1; i <= count; ++i)
    files.push_back(fmt::format("{}{:05}-of-{:05}{}", path.substr(0, dot - kNumbers), i, count, path.substr(dot)));
  return files;
}

Result<std::vector<std::string>> FilesOf(const std::string& path) {
  if (!path.ends_with(".index.json")) return ShardsBeside(path);
  MEMSTRATA_ASSIGN_OR_RETURN(const std::set<std::string> shards, ShardsOfIndex(path));
  const std::string folder = path.substr(0, path.find_last_of('/') + 1);
  std::vector<std::string> files;
  for (const std::string& shard : shards) files.push_back(folder + shard);
  return files;
}

}  // namespace

Result<ModelDescription> DescribeWeightsFile(const std::string& path) {
  MEMSTRATA_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesOf(path));
  ModelDescription model;
  model.name = path.substr(path.find_last_of('/') + 1);
  model.source = fmt::format("{} weights file(s)", files.size());
  model.layer_count = 1;
  uint64_t bytes = 0;
  GgufMetadata metadata;
  int64_t cut_count = 0;
  for (const std::string& file : files) {
    MEMSTRATA_ASSIGN_OR_RETURN(const WeightsHeader header, ReadHeader(file));
    for (const StoredTensor& tensor : header.tensors) model.parameters.push_back(ParameterOf(tensor));
    bytes += header.total_bytes;
    MEMSTRATA_TRY(AddElements(header.parameter_count, model.parameter_count));
    cut_count += header.is_cut ? 1 : 0;
    if (!header.metadata.IsEmpty() && metadata.IsEmpty()) metadata = header.metadata;
  }
  model.stored_weight_bytes = bytes;
  if (cut_count > 0)
    model.notes.push_back(
        fmt::format("{} file(s) end before their tensors do; only the headers were used.", cut_count));
  MEMSTRATA_TRY(UseGgufMetadata(metadata, model));
  return model;
}

}  // namespace memstrata::plan
