#include "readers/xla/scoped_memory.h"

#include <rapidjson/document.h>

#include <charconv>

namespace memstrata::xla {
namespace {

constexpr char kKey[] = "used_scoped_memory_configs";

uint64_t Number(const rapidjson::Value& object, const char* key) {
  const auto found = object.FindMember(key);
  if (found == object.MemberEnd()) return 0;
  if (found->value.IsUint64()) return found->value.GetUint64();
  uint64_t number = 0;
  if (found->value.IsString()) {
    std::from_chars(found->value.GetString(), found->value.GetString() + found->value.GetStringLength(), number);
  }
  return number;
}

}  // namespace

std::vector<ScopedMemory> ReadScopedMemory(std::string_view backend_config) {
  std::vector<ScopedMemory> entries;
  if (backend_config.find(kKey) == std::string_view::npos) return entries;
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(backend_config.data(), backend_config.size());
  if (document.HasParseError() || !document.IsObject()) return entries;
  const auto found = document.FindMember(kKey);
  if (found == document.MemberEnd() || !found->value.IsArray()) return entries;
  for (const rapidjson::Value& entry : found->value.GetArray()) {
    if (!entry.IsObject()) continue;
    entries.push_back({static_cast<int64_t>(Number(entry, "memory_space")), Number(entry, "size")});
  }
  return entries;
}

}  // namespace memstrata::xla
