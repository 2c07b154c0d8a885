// program: the compiler's memory plan of one program and memory space: bytes over program points, and the buffers.

#include <fmt/format.h>

#include <limits>

#include "query/answer_parts.h"
#include "query/program_space.h"
#include "query/questions/questions.h"

namespace memstrata {
namespace {

constexpr uint8_t kDonated = 1;
constexpr uint8_t kMayLiveOut = 2;

// Point p of the curve is the state before event p of the trace: what an event does shows from the next point on.
uint32_t PointAfter(uint32_t event) { return event + 1; }

std::string_view KindOf(const ProgramAllocation& allocation) {
  if (allocation.is_entry_parameter) return "parameter";
  if (allocation.is_constant) return "constant";
  return allocation.may_live_out ? "output" : "temporary";
}

std::string_view CategoryOf(const ProgramAllocation& allocation) {
  if (allocation.is_entry_parameter || allocation.is_constant) return "parameter";
  return allocation.may_live_out ? "unknown" : "temporary";
}

// Padding of what is live at the peak: what lives for the whole run, and the temporaries of that point.
uint64_t PaddingAtPeak(const Program& program, const ProgramSpace& space) {
  uint64_t padding_bytes = 0;
  const auto add = [&](uint32_t row) {
    const ProgramBuffer& buffer = program.buffers[row];
    padding_bytes += buffer.size_bytes - std::min(buffer.size_bytes, buffer.unpadded_bytes);
  };
  for (const uint32_t row : space.simulation.peak_buffers) add(row);
  for (const ProgramAllocation& allocation : program.allocations) {
    if (allocation.space != space.id || !allocation.is_indefinite()) continue;
    for (const ProgramAssignment& assignment : allocation.assigned) add(assignment.buffer);
  }
  return padding_bytes;
}

void WriteAttributes(JsonWriter& json, const Program& program, const ProgramSpace& space) {
  const HeapSimulation& simulation = space.simulation;
  json.Field("name", std::string_view(program.label.empty() ? program.name : program.label));
  json.Field("space", space.id);
  json.Field("peak_bytes", space.peak_bytes);
  json.Field("peak_unpadded_bytes",
             simulation.has_trace
                 ? std::optional<uint64_t>(space.peak_bytes - std::min(space.peak_bytes, PaddingAtPeak(program, space)))
                 : std::nullopt);
  json.Field("peak_point",
             simulation.has_trace ? std::optional<uint32_t>(PointAfter(simulation.peak_position)) : std::nullopt);
  json.Field("point_count", uint64_t{std::max<size_t>(1, simulation.heap_bytes.size())});
  json.Field("argument_bytes", space.argument_bytes);
  json.Field("temporary_at_peak_bytes",
             simulation.has_trace ? std::optional<uint64_t>(simulation.peak_bytes) : std::nullopt);
  json.Field("allocated_bytes", space.allocated_bytes);
  json.Field("gap_bytes", space.allocated_bytes - std::min(space.allocated_bytes, space.peak_bytes));
  json.Field("padding_bytes", PaddingAtPeak(program, space));
  json.Field("output_bytes", space.output_bytes);
  json.Field("entry_computation", std::string_view(program.entry_computation));
}

// Without a trace one point stands for the whole run.
void WriteCurve(FrameWriter& frame, const Store& store, const ProgramSpace& space) {
  const HeapSimulation& simulation = space.simulation;
  std::vector<uint64_t> size_bytes, unpadded_bytes;
  std::vector<std::string_view> instruction;
  for (size_t point = 0; point < simulation.heap_bytes.size(); ++point) {
    size_bytes.push_back(simulation.heap_bytes[point] + simulation.indefinite_bytes);
    unpadded_bytes.push_back(simulation.unpadded_bytes[point] + simulation.indefinite_bytes);
    instruction.push_back(store.String(simulation.instructions[point]));
  }
  if (!simulation.has_trace) {
    size_bytes = {space.allocated_bytes};
    unpadded_bytes = {kUnknownBytes};
    instruction = {""};
  }
  frame.StartTable("curve", size_bytes.size());
  frame.Bytes("size_bytes", size_bytes);
  frame.Bytes("unpadded_bytes", unpadded_bytes);
  frame.Strings("instruction", instruction);
}

// The columns of the table "buffers".
struct BufferColumns {
  std::vector<std::string_view> name, opcode, op_name, shape, category, kind;
  std::vector<std::string> source;
  std::vector<uint64_t> size_bytes, unpadded_bytes, offset_bytes;
  std::vector<uint32_t> begin_point, end_point, allocation_index;
  std::vector<uint8_t> at_peak, flags;

  void Add(const Store& store, const Program& program, const ProgramAllocation& allocation,
           const ProgramAssignment& assignment) {
    const ProgramBuffer& buffer = program.buffers[assignment.buffer];
    static const ProgramInstruction kNoInstruction{.name = {0}, .opcode = {0}, .op_name = {0}, .source_file = {0}};
    const ProgramInstruction& instruction =
        buffer.instruction == kNone ? kNoInstruction : program.instructions[buffer.instruction];
    name.push_back(store.String(instruction.name));
    opcode.push_back(store.String(instruction.opcode));
    op_name.push_back(store.String(instruction.op_name));
    shape.push_back(store.String(buffer.shape));
    category.push_back(CategoryOf(allocation));
    kind.push_back(KindOf(allocation));
    const std::string_view file = store.String(instruction.source_file);
    source.push_back(file.empty() ? "" : fmt::format("{}:{}", file, instruction.source_line));
    size_bytes.push_back(buffer.size_bytes);
    unpadded_bytes.push_back(buffer.unpadded_bytes);
    offset_bytes.push_back(assignment.offset_bytes);
    allocation_index.push_back(static_cast<uint32_t>(allocation.index));
    const bool is_donated = allocation.is_entry_parameter && allocation.may_live_out;
    flags.push_back((is_donated ? kDonated : 0) | (allocation.may_live_out ? kMayLiveOut : 0));
  }
  void Write(FrameWriter& frame) const {
    frame.StartTable("buffers", name.size());
    frame.Strings("name", name);
    frame.Strings("opcode", opcode);
    frame.Strings("op_name", op_name);
    frame.Strings("shape", shape);
    frame.Strings("category", category);
    frame.Strings("source", std::vector<std::string_view>(source.begin(), source.end()));
    frame.Strings("kind", kind);
    frame.Bytes("size_bytes", size_bytes);
    frame.Bytes("unpadded_bytes", unpadded_bytes);
    frame.Bytes("offset_bytes", offset_bytes);
    frame.Values<uint32_t>("begin_point", "point", begin_point);
    frame.Values<uint32_t>("end_point", "point", end_point);
    frame.Values<uint8_t>("at_peak", "flag", at_peak);
    frame.Values<uint32_t>("allocation_index", "row", allocation_index);
    frame.Values<uint8_t>("flags", "flags", flags);
  }
};

void WriteBuffers(FrameWriter& frame, const Store& store, const Program& program, const ProgramSpace& space) {
  const HeapSimulation& simulation = space.simulation;
  const auto point_count = static_cast<uint32_t>(std::max<size_t>(1, simulation.heap_bytes.size()));
  std::vector<const BufferSpan*> span_of(program.buffers.size(), nullptr);
  for (const BufferSpan& span : simulation.spans) span_of[span.buffer] = &span;
  std::vector<bool> at_peak(program.buffers.size(), false);
  for (const uint32_t row : simulation.peak_buffers) at_peak[row] = true;
  BufferColumns columns;
  for (const ProgramAllocation& allocation : program.allocations) {
    if (allocation.space != space.id || allocation.is_thread_local) continue;
    // Values that take turns in an allocation which lives all the time: the largest stands for it in sums.
    const auto largest =
        std::max_element(allocation.assigned.begin(), allocation.assigned.end(),
                         [&](const ProgramAssignment& a, const ProgramAssignment& b) {
                           return program.buffers[a.buffer].size_bytes < program.buffers[b.buffer].size_bytes;
                         });
    for (const ProgramAssignment& assignment : allocation.assigned) {
      columns.Add(store, program, allocation, assignment);
      const BufferSpan* span = span_of[assignment.buffer];
      const bool whole_run = allocation.is_indefinite() || span == nullptr;
      columns.begin_point.push_back(whole_run ? 0 : PointAfter(span->begin));
      columns.end_point.push_back(whole_run ? point_count : std::min(point_count, PointAfter(span->end)));
      columns.at_peak.push_back((allocation.is_indefinite() && &assignment == &*largest) || at_peak[assignment.buffer]);
    }
  }
  columns.Write(frame);
}

Result<Answer> AnswerProgram(SessionIndex& session, const Parameters& parameters) {
  const std::vector<Program>& programs = session.store().programs;
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t index, parameters.Number("index", UINT32_MAX));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t space_id, parameters.Number("space", INT32_MAX));
  if (index >= programs.size())
    return Fail(ErrorCode::kNotFound,
                fmt::format("There is no program {}; the session has {}.", index, programs.size()));
  const Program& program = programs[index];
  if (!program.problem.empty()) return Fail(ErrorCode::kNotFound, program.problem);
  MEMSTRATA_ASSIGN_OR_RETURN(const ProgramSpace space, DescribeSpace(program, static_cast<int64_t>(space_id)));
  FrameWriter frame("program");
  WriteAttributes(frame.attributes(), program, space);
  WriteCurve(frame, session.store(), space);
  WriteBuffers(frame, session.store(), program, space);
  return Answer{Answer::Type::kFrame, std::move(frame).Finish()};
}

constexpr std::string_view kParameters[] = {"index", "space"};

}  // namespace

const QuestionInfo kProgramQuestion = {"program", kParameters, AnswerProgram};

}  // namespace memstrata
