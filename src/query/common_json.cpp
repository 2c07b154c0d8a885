#include "query/common_json.h"

namespace memstrata {

void WriteSourceFields(JsonWriter& json, const Source& source) {
  json.Field("file", std::string_view(source.file));
  json.Field("format", std::string_view(source.format));
  json.Field("size_bytes", source.size_bytes);
  json.Field("truncated", source.truncated);
}

void WriteSources(JsonWriter& json, const Store& store) {
  json.Key("sources");
  json.StartArray();
  for (const Source& source : store.sources) {
    json.StartObject();
    WriteSourceFields(json, source);
    json.Key("metadata");
    json.StartObject();
    for (const auto& [key, value] : source.metadata)
      json.Field(IsValidUtf8(key) ? key : ReplaceInvalidUtf8(key), std::string_view(value));
    json.EndObject();
    json.EndObject();
  }
  json.EndArray();
}

void WriteMissingItem(JsonWriter& json, std::string_view what, std::string_view why, std::string_view how_to_get) {
  json.StartObject();
  json.Field("what", what);
  json.Field("why", why);
  json.Field("how_to_get", how_to_get);
  json.EndObject();
}

void WriteMissing(JsonWriter& json, const Store& store) {
  json.Key("missing");
  json.StartArray();
  for (const Missing& missing : store.missing) WriteMissingItem(json, missing.what, missing.why, missing.how_to_get);
  json.EndArray();
}

void WriteDiagnostics(JsonWriter& json, const Store& store) {
  json.Key("diagnostics");
  json.StartArray();
  for (const Diagnostic& diagnostic : store.diagnostics) {
    json.StartObject();
    json.Field("severity", kSeverityNames[static_cast<size_t>(diagnostic.severity)]);
    json.Field("code", std::string_view(diagnostic.code));
    json.Field("count", diagnostic.count);
    json.Key("first_offset");
    if (diagnostic.first_offset == kUnknownBytes) {
      json.Null();
    } else {
      json.Value(diagnostic.first_offset);
    }
    json.Field("text", std::string_view(diagnostic.text));
    json.EndObject();
  }
  json.EndArray();
}

void WriteFrames(JsonWriter& json, const Store& store, const std::vector<FrameId>& frames) {
  const FrameTable& table = store.stacks.frames();
  json.StartArray();
  for (const FrameId frame : frames) {
    json.StartObject();
    json.Field("function", store.String(table.function[frame.value]));
    json.Field("file", store.String(table.file[frame.value]));
    json.Field("line", table.line[frame.value]);
    json.EndObject();
  }
  json.EndArray();
}

void WriteProfileHolders(JsonWriter& json, const std::vector<ProfileHolder>& holders, uint64_t total_bytes) {
  const auto write_text = [&json](std::string_view key, const std::optional<std::string>& text) {
    json.Field(key, text ? std::optional<std::string_view>(*text) : std::nullopt);
  };
  for (const ProfileHolder& holder : holders) {
    json.StartObject();
    json.Field("bytes", holder.bytes);
    json.Field("block_count", holder.block_count);
    json.Field("share", total_bytes == 0 ? 0.0 : static_cast<double>(holder.bytes) / static_cast<double>(total_bytes));
    json.Field("category", holder.category);
    if (!holder.name.empty()) json.Field("name", std::string_view(holder.name));
    json.Field("allocated_before_recording", holder.is_before_recording);
    write_text("op", holder.op);
    json.Field("requested_bytes", holder.requested_bytes);
    write_text("region_type", holder.region_type);
    write_text("data_type", holder.data_type);
    write_text("shape", holder.shape);
    json.EmptyArray("stack");
    json.EndObject();
  }
}

}  // namespace memstrata
