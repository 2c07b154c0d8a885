#include "accept/baseline.h"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/json_writer.h"

namespace memstrata::accept {
namespace {

constexpr std::string_view kSchema = "memstrata.baseline/1";
constexpr size_t kMostTextBytes = size_t{64} << 20;
constexpr uint64_t kMostBytes = uint64_t{1} << 50;  // sums of all holders stay below 2^63

using Json = rapidjson::Value;

tl::unexpected<Error> Bad(std::string_view what) {
  return Fail(ErrorCode::kCorruptInput,
              fmt::format("This is no baseline: {}. `memstrata gate --update` writes one.", what));
}

const Json* Member(const Json& object, const char* key) {
  if (!object.IsObject()) return nullptr;
  const auto found = object.FindMember(key);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

Result<const Json*> Array(const Json& object, const char* key) {
  const Json* value = Member(object, key);
  if (value == nullptr || !value->IsArray()) return Bad(fmt::format("\"{}\" is not a list", key));
  return value;
}

Result<std::string> Text(const Json& object, const char* key) {
  const Json* value = Member(object, key);
  if (value == nullptr || !value->IsString()) return Bad(fmt::format("\"{}\" is not a text", key));
  return std::string(value->GetString(), value->GetStringLength());
}

Result<uint64_t> Bytes(const Json* value) {
  if (value == nullptr || !value->IsUint64() || value->GetUint64() > kMostBytes)
    return Bad("a size is not a whole number from 0 to 2^50");
  return value->GetUint64();
}

Result<BaselineFigure> ReadFigure(const Json& json) {
  BaselineFigure figure;
  MEMSTRATA_ASSIGN_OR_RETURN(figure.name, Text(json, "name"));
  MEMSTRATA_ASSIGN_OR_RETURN(const Json* values, Array(json, "values_bytes"));
  for (const Json& value : values->GetArray()) {
    MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t value_bytes, Bytes(&value));
    figure.values_bytes.push_back(value_bytes);
  }
  if (figure.values_bytes.empty()) return Bad(fmt::format("\"{}\" has no values", figure.name));
  return figure;
}

Result<BaselineHolder> ReadHolder(const Json& json, const std::vector<BaselineFrame>& frames) {
  BaselineHolder holder;
  MEMSTRATA_ASSIGN_OR_RETURN(holder.bytes, Bytes(Member(json, "bytes")));
  MEMSTRATA_ASSIGN_OR_RETURN(holder.category, Text(json, "category"));
  MEMSTRATA_ASSIGN_OR_RETURN(const Json* stack, Array(json, "stack"));
  for (const Json& index : stack->GetArray()) {
    if (!index.IsUint() || index.GetUint() >= frames.size()) return Bad("a stack names a frame that is not there");
    holder.stack.push_back(frames[index.GetUint()]);
  }
  return holder;
}

Result<std::vector<BaselineFrame>> ReadFrames(const Json& json) {
  std::vector<BaselineFrame> frames;
  MEMSTRATA_ASSIGN_OR_RETURN(const Json* rows, Array(json, "frames"));
  for (const Json& row : rows->GetArray()) {
    BaselineFrame frame;
    MEMSTRATA_ASSIGN_OR_RETURN(frame.function, Text(row, "function"));
    MEMSTRATA_ASSIGN_OR_RETURN(frame.file, Text(row, "file"));
    frames.push_back(std::move(frame));
  }
  return frames;
}

Result<BaselineHeap> ReadHeap(const Json& json, const std::vector<BaselineFrame>& frames) {
  BaselineHeap heap;
  MEMSTRATA_ASSIGN_OR_RETURN(heap.id, Text(json, "id"));
  MEMSTRATA_ASSIGN_OR_RETURN(const Json* figures, Array(json, "figures"));
  for (const Json& figure : figures->GetArray()) {
    MEMSTRATA_ASSIGN_OR_RETURN(BaselineFigure read, ReadFigure(figure));
    heap.figures.push_back(std::move(read));
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const Json* holders, Array(json, "holders"));
  if (holders->Size() > kMostHolders + 1)
    return Bad(fmt::format("heap {} has more than {} holders", heap.id, kMostHolders));
  for (const Json& holder : holders->GetArray()) {
    MEMSTRATA_ASSIGN_OR_RETURN(BaselineHolder read, ReadHolder(holder, frames));
    heap.holders.push_back(std::move(read));
  }
  return heap;
}

// Each frame once, in an order that does not depend on which holder came first.
std::map<BaselineFrame, uint32_t> NumberFrames(const Baseline& baseline) {
  std::map<BaselineFrame, uint32_t> numbers;
  for (const BaselineHeap& heap : baseline.heaps) {
    for (const BaselineHolder& holder : heap.holders) {
      for (const BaselineFrame& frame : holder.stack) numbers.emplace(frame, 0);
    }
  }
  uint32_t next = 0;
  for (auto& [frame, number] : numbers) number = next++;
  return numbers;
}

void WriteFigures(JsonWriter& json, const BaselineHeap& heap) {
  json.Key("figures");
  json.StartArray();
  for (const BaselineFigure& figure : heap.figures) {
    json.StartObject();
    json.Field("name", std::string_view(figure.name));
    json.Key("values_bytes");
    json.StartArray();
    for (const uint64_t value_bytes : figure.values_bytes) json.Value(value_bytes);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
}

void WriteHolders(JsonWriter& json, const BaselineHeap& heap, const std::map<BaselineFrame, uint32_t>& numbers) {
  json.Key("holders");
  json.StartArray();
  for (const BaselineHolder& holder : heap.holders) {
    json.StartObject();
    json.Field("bytes", holder.bytes);
    json.Field("category", std::string_view(holder.category));
    json.Key("stack");
    json.StartArray();
    for (const BaselineFrame& frame : holder.stack) json.Value(numbers.at(frame));
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

Result<Baseline> ParseBaseline(std::string_view text) {
  if (text.size() > kMostTextBytes) return Fail(ErrorCode::kLimitExceeded, "A baseline is at most 64 MiB large.");
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(
      text.data(), text.size());  // no recursion: any depth is safe
  if (json.HasParseError()) {
    return Fail(ErrorCode::kCorruptInput,
                fmt::format("This is not JSON: {}", rapidjson::GetParseError_En(json.GetParseError())),
                json.GetErrorOffset());
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string schema, Text(json, "schema"));
  if (schema != kSchema) return Bad(fmt::format("its schema is \"{}\", not \"{}\"", schema, kSchema));
  Baseline baseline;
  MEMSTRATA_ASSIGN_OR_RETURN(baseline.run_count, Bytes(Member(json, "run_count")));
  if (const Json* given = Member(json, "tolerance"); given != nullptr && !given->IsNull()) {
    MEMSTRATA_ASSIGN_OR_RETURN(baseline.tolerance, Text(json, "tolerance"));
    MEMSTRATA_TRY(ParseTolerance(baseline.tolerance));
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const std::vector<BaselineFrame> frames, ReadFrames(json));
  MEMSTRATA_ASSIGN_OR_RETURN(const Json* heaps, Array(json, "heaps"));
  std::set<std::string> ids;
  for (const Json& heap : heaps->GetArray()) {
    MEMSTRATA_ASSIGN_OR_RETURN(BaselineHeap read, ReadHeap(heap, frames));
    if (!ids.insert(read.id).second) return Bad(fmt::format("heap {} is there twice", read.id));
    baseline.heaps.push_back(std::move(read));
  }
  if (baseline.heaps.empty()) return Bad("it has no heaps");
  return baseline;
}

std::string BaselineJson(const Baseline& baseline) {
  const std::map<BaselineFrame, uint32_t> numbers = NumberFrames(baseline);
  JsonWriter json;
  json.StartObject();
  json.Field("schema", kSchema);
  json.Field("run_count", baseline.run_count);
  json.Key("tolerance");
  if (baseline.tolerance.empty()) {
    json.Null();
  } else {
    json.Value(std::string_view(baseline.tolerance));
  }
  json.Key("heaps");
  json.StartArray();
  for (const BaselineHeap& heap : baseline.heaps) {
    json.StartObject();
    json.Field("id", std::string_view(heap.id));
    WriteFigures(json, heap);
    WriteHolders(json, heap, numbers);
    json.EndObject();
  }
  json.EndArray();
  json.Key("frames");
  json.StartArray();
  for (const auto& [frame, number] : numbers) {
    json.StartObject();
    json.Field("function", std::string_view(frame.function));
    json.Field("file", std::string_view(frame.file));
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Finish();
}

}  // namespace memstrata::accept
