#include "report/json/program_json.h"

#include "analysis/program_memory/program_summary.h"

namespace memstrata {
namespace {

void WriteBuffer(JsonWriter& json, const Store& store, const Program& program, const PlannedBuffer& planned) {
  static const ProgramBuffer kNoBuffer{.shape = StringId{0}};
  const bool has_buffer = planned.buffer != kNone;
  const ProgramBuffer& buffer = has_buffer ? program.buffers[planned.buffer] : kNoBuffer;
  json.StartObject();
  json.Field("bytes", planned.size_bytes);
  json.Field("padding_bytes", planned.value_count == 0 ? std::optional(planned.padding_bytes) : std::nullopt);
  json.Field("role", planned.role);
  json.Field("value_count", planned.value_count);
  json.Field("shape", has_buffer ? std::optional(store.String(buffer.shape)) : std::nullopt);
  json.Field("buffer_id", has_buffer ? std::optional(buffer.id) : std::nullopt);
  if (buffer.instruction == kNone) {
    for (const std::string_view key : {"instruction", "opcode", "op", "file", "line"}) json.NullField(key);
  } else {
    const ProgramInstruction& instruction = program.instructions[buffer.instruction];
    const bool has_frame = !instruction.frames.empty();
    const std::string_view op = store.String(instruction.op_name);
    const std::string_view file = store.String(has_frame ? instruction.frames.front().file : instruction.source_file);
    json.Field("instruction", store.String(instruction.name));
    const std::string_view opcode = store.String(instruction.opcode);
    json.Field("opcode", opcode.empty() ? std::nullopt : std::optional(opcode));
    json.Field("op", op.empty() ? std::nullopt : std::optional(op));
    json.Field("file", file.empty() ? std::nullopt : std::optional(file));
    json.Field("line", file.empty()
                           ? std::nullopt
                           : std::optional(has_frame ? instruction.frames.front().line : instruction.source_line));
  }
  json.EndObject();
}

void WriteProgram(JsonWriter& json, const Store& store, const Program& program, size_t top_count) {
  const ProgramSummary summary = SummarizeProgram(program);
  json.StartObject();
  json.Field("name", std::string_view(program.label));
  json.Field("source", program.source);
  json.Field("argument_bytes", summary.argument_bytes);
  json.Field("output_bytes", summary.output_bytes);
  json.Field("alias_bytes", summary.alias_bytes);
  json.Field("temp_bytes", summary.temp_bytes);
  json.Field("constant_bytes", summary.constant_bytes);
  json.Field("thread_local_bytes", summary.thread_local_bytes);
  json.NullField("generated_code_bytes");  // no part of an HloProto
  json.Field("total_bytes", summary.total_bytes);
  json.Field("approximate", summary.is_approximate);
  json.Field("peak_bytes", summary.peak_bytes);
  json.Field("padding_bytes", summary.temporaries_at_peak_bytes ? std::optional(summary.padding_bytes) : std::nullopt);
  json.Field("temporaries_at_peak_bytes", summary.temporaries_at_peak_bytes);
  json.Field("temporary_count_at_peak", summary.temporary_count_at_peak);
  json.Field("donation_bytes", summary.donation_bytes);
  json.Field("donation_count", summary.donation_count);
  json.Key("buffers");
  json.StartArray();
  for (size_t i = 0; i < std::min(top_count, summary.at_peak.size()); ++i)
    WriteBuffer(json, store, program, summary.at_peak[i]);
  json.EndArray();
  json.Field("problem", summary.problem.empty() ? std::nullopt : std::optional<std::string_view>(summary.problem));
  json.EndObject();
}

}  // namespace

void WritePrograms(JsonWriter& json, const Store& store, size_t top_count) {
  json.Key("programs");
  json.StartArray();
  for (const Program& program : store.programs) WriteProgram(json, store, program, top_count);
  json.EndArray();
}

}  // namespace memstrata
