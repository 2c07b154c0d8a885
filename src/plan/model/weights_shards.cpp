#include "plan/model/weights_shards.h"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <cstdio>
#include <memory>
#include <set>
#include <string_view>

namespace memstrata::plan {
namespace {

constexpr size_t kMostIndexBytes = size_t{64} << 20;

// llama.cpp and transformers cut a file into "NAME-00001-of-00003.EXTENSION" and so on.
std::vector<std::string> SiblingsOf(const std::string& path, std::string_view extension) {
  constexpr size_t kNumbers = std::string_view("00001-of-00003").size();
  constexpr int kMostShards = 4096;
  const size_t tail = kNumbers + extension.size();
  int number = 0;
  int count = 0;
  const bool is_shard = path.size() > tail && path[path.size() - tail - 1] == '-' &&
                        std::sscanf(path.c_str() + path.size() - tail, "%5d-of-%5d", &number, &count) == 2;
  if (!is_shard || count < 1 || count > kMostShards) return {path};
  std::vector<std::string> files;
  for (int i = 1; i <= count; ++i)
    files.push_back(fmt::format("{}{:05}-of-{:05}{}", path.substr(0, path.size() - tail), i, count, extension));
  return files;
}

Result<WeightsShards> ReadIndex(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) return Fail(ErrorCode::kNotFound, "The file does not exist or cannot be read.");
  std::string text(kMostIndexBytes, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (json.HasParseError() || !json.IsObject() || !json.HasMember("weight_map") || !json["weight_map"].IsObject()) {
    return Fail(ErrorCode::kCorruptInput, "An index of shards is a JSON object with \"weight_map\".");
  }
  const std::string folder = path.substr(0, path.find_last_of('/') + 1);
  WeightsShards shards;
  std::set<std::string> files;
  for (const auto& member : json["weight_map"].GetObject()) {
    if (!member.value.IsString())
      return Fail(ErrorCode::kCorruptInput, "\"weight_map\" must name a file for each tensor.");
    const std::string_view name(member.value.GetString(), member.value.GetStringLength());
    if (name.find('/') != std::string_view::npos)
      return Fail(ErrorCode::kCorruptInput, "A shard must lie beside its index.");
    std::string shard = folder + std::string(name);
    files.insert(shard);
    shards.file_of_tensor[std::string(member.name.GetString(), member.name.GetStringLength())] = std::move(shard);
  }
  shards.files.assign(files.begin(), files.end());
  if (json.HasMember("metadata") && json["metadata"].IsObject() && json["metadata"].HasMember("total_size")) {
    const rapidjson::Value& size = json["metadata"]["total_size"];
    if (size.IsUint64()) shards.total_bytes = size.GetUint64();
    constexpr double kMostBytes = 0x1p62;
    const bool is_whole = size.IsDouble() && size.GetDouble() >= 0 && size.GetDouble() < kMostBytes;
    if (!size.IsUint64() && is_whole) shards.total_bytes = static_cast<uint64_t>(size.GetDouble());
  }
  return shards;
}

}  // namespace

Result<WeightsShards> FindShards(const std::string& path) {
  if (path.ends_with(".index.json")) return ReadIndex(path);
  for (const std::string_view extension : {".gguf", ".safetensors"}) {
    if (path.ends_with(extension)) return WeightsShards{SiblingsOf(path, extension), {}, {}};
  }
  return WeightsShards{{path}, {}, {}};
}

}  // namespace memstrata::plan
