#include "accept/saved_acceptance.h"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "accept/acceptance.h"
#include "plan/request_file.h"

namespace memstrata::accept {
namespace {

constexpr std::string_view kSchema = "memstrata.accept/1";
constexpr size_t kMostBytes = size_t{64} << 20;
constexpr size_t kHeadBytes = 256;

using Json = rapidjson::Value;

const Json* Member(const Json* object, const char* key) {
  if (object == nullptr || !object->IsObject()) return nullptr;
  const auto found = object->FindMember(key);
  return found == object->MemberEnd() ? nullptr : &found->value;
}

std::string TextOf(const Json* value) {
  return value != nullptr && value->IsString() ? std::string(value->GetString(), value->GetStringLength()) : "";
}

uint64_t BytesOf(const Json* measured) {
  const Json* bytes = Member(measured, "bytes");
  return bytes != nullptr && bytes->IsUint64() ? bytes->GetUint64() : 0;
}

// Devices outweigh the host: a run is as high as its highest device, and only without one as its host memory.
std::pair<uint64_t, uint64_t> PeakOf(const Json& run) {
  uint64_t device_bytes = 0;
  if (const Json* devices = Member(&run, "devices"); devices != nullptr && devices->IsArray()) {
    for (const Json& device : devices->GetArray())
      device_bytes = std::max({device_bytes, BytesOf(Member(&device, "used")), BytesOf(Member(&device, "framework"))});
  }
  return {device_bytes, BytesOf(Member(&run, "host"))};
}

void AddRuns(const Json& root, SavedAcceptance& saved) {
  const Json* runs = Member(&root, "runs");
  if (runs == nullptr || !runs->IsArray() || runs->Empty()) return;
  const auto list = runs->GetArray();
  for (const Json& run : list) saved.runs.push_back(TextOf(Member(&run, "folder")));
  const auto highest =
      std::max_element(list.begin(), list.end(), [](const Json& a, const Json& b) { return PeakOf(a) < PeakOf(b); });
  saved.highest_run = TextOf(Member(highest, "folder"));
}

bool IsRedacted(const Json& root) {
  const Json* command = Member(Member(&root, "identity"), "command");
  return command != nullptr && command->IsArray() && command->Size() == 1 &&
         TextOf(command->Begin()) == kRedactedCommand;
}

}  // namespace

bool IsSavedAcceptance(const std::string& path) {
  std::array<char, kHeadBytes> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  return std::string_view(head.data(), static_cast<size_t>(file.gcount())).find(kSchema) != std::string_view::npos;
}

Result<SavedAcceptance> ReadSavedAcceptance(const std::string& path) {
  SavedAcceptance saved;
  MEMSTRATA_ASSIGN_OR_RETURN(saved.json, plan::ReadSmallFile(path, kMostBytes));
  rapidjson::Document root;
  root.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(saved.json.data(),
                                                                                     saved.json.size());
  if (root.HasParseError() || !root.IsObject())
    return tl::unexpected(Error{ErrorCode::kCorruptInput, "This is not the JSON of an acceptance.", path});
  if (root.ObjectEmpty())
    return tl::unexpected(Error{ErrorCode::kNotFound, "The acceptance was cut off before its verdict.", path});
  if (TextOf(Member(&root, "schema")) != kSchema)
    return tl::unexpected(Error{ErrorCode::kCorruptInput, fmt::format("Its schema is not {}.", kSchema), path});
  AddRuns(root, saved);
  saved.is_redacted = IsRedacted(root);
  return saved;
}

}  // namespace memstrata::accept
