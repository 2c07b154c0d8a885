#include "accept/entry_command.h"

#include <rapidjson/document.h>

#include "base/json_writer.h"

namespace memstrata::data {
extern const std::string_view kAcceptanceEntry;
}  // namespace memstrata::data

namespace memstrata::accept {
namespace {

uint64_t CountIn(const rapidjson::Document& call, const char* key, uint64_t otherwise) {
  const auto found = call.FindMember(key);
  return found != call.MemberEnd() && found->value.IsUint64() ? found->value.GetUint64() : otherwise;
}

}  // namespace

Command EntryCommand(const EntryCall& call) {
  JsonWriter json(JsonWriter::Style::kCompact);
  json.StartObject();
  json.Field("function", std::string_view(call.function));
  json.Key("parameters");
  json.StartObject();
  for (const auto& [name, value] : call.parameters) json.Field(name, std::string_view(value));
  json.EndObject();
  json.Field("warmup", call.warmup_count);
  json.Field("iterations", call.iteration_count);
  json.TextOrNull("log", call.log);
  json.EndObject();
  return {call.python, "-c", std::string(data::kAcceptanceEntry), json.Finish()};
}

std::optional<EntryCall> ParseEntryCommand(const Command& command) {
  if (command.size() != 4 || command[1] != "-c" || command[2] != data::kAcceptanceEntry) return std::nullopt;
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag>(command[3].data(), command[3].size());
  if (json.HasParseError() || !json.IsObject()) return std::nullopt;
  const auto function = json.FindMember("function");
  const auto parameters = json.FindMember("parameters");
  if (function == json.MemberEnd() || !function->value.IsString() || parameters == json.MemberEnd() ||
      !parameters->value.IsObject())
    return std::nullopt;
  EntryCall call{.python = command[0], .function = function->value.GetString()};
  for (const auto& [name, value] : parameters->value.GetObject()) {
    if (value.IsString()) call.parameters[name.GetString()] = value.GetString();
  }
  call.warmup_count = CountIn(json, "warmup", 0);
  call.iteration_count = CountIn(json, "iterations", 1);
  return call;
}

}  // namespace memstrata::accept
