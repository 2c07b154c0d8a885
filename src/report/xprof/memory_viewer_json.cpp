#include "report/xprof/memory_viewer_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/program_memory/heap_simulation.h"
#include "base/flat_map.h"
#include "base/json_writer.h"
#include "report/xprof/block_colors.h"

namespace memstrata {
namespace {

constexpr uint64_t kSmallBytes = 16384;
constexpr double kDrawingPoints = 4096;  // XProf lays the timeline out in a square of this size
constexpr int64_t kDeviceMemory = 0;

// 0, which is left out, where it is not known.
uint64_t KnownUnpadded(const ProgramBuffer& buffer) {
  return buffer.unpadded_bytes == kUnknownBytes ? 0 : buffer.unpadded_bytes;
}

double Mib(uint64_t size_bytes) { return static_cast<double>(size_bytes) / (1 << 20); }

// One entry of "maxHeap": a buffer, or the sum of all small ones.
struct HeapObject {
  uint32_t buffer = kNone;
  std::string_view group;
  uint64_t size_bytes = 0;
};

std::string_view GroupOf(const ProgramAllocation& allocation) {
  if (allocation.is_entry_parameter) return "Parameter";
  if (allocation.may_live_out) return "Output";
  if (allocation.is_thread_local) return "Thread-local";
  return allocation.is_constant ? "Constant" : "Temporary";
}

class ViewerWriter {
 public:
  ViewerWriter(const Store& store, const Program& program, int64_t space, HeapSimulation simulation)
      : store_(store),
        program_(program),
        space_(space),
        simulation_(std::move(simulation)),
        json_(JsonWriter::Style::kCompact) {}

  std::string Write() {
    json_.StartObject();
    WriteTimelines();
    WriteMaxHeap();
    json_.Field("moduleName", std::string_view(program_.name));
    json_.Field("entryComputationName", std::string_view(program_.entry_computation));
    NonZero("peakHeapMib", Mib(simulation_.peak_bytes + simulation_.indefinite_bytes));
    NonZero("peakUnpaddedHeapMib", Mib(simulation_.peak_unpadded_bytes + simulation_.indefinite_bytes));
    if (simulation_.peak_position > 0) json_.Field("peakHeapSizePosition", simulation_.peak_position);
    WriteTotals();
    WriteLifetimes();
    WriteBlocks();
    json_.EndObject();
    return json_.Finish();
  }

 private:
  const ProgramInstruction* InstructionOf(uint32_t buffer) const {
    const uint32_t row = program_.buffers[buffer].instruction;
    return row == kNone ? nullptr : &program_.instructions[row];
  }
  std::string_view Text(StringId id) const { return store_.String(id); }

  std::string_view HloName(uint32_t buffer) const {
    const ProgramInstruction* instruction = InstructionOf(buffer);
    return instruction == nullptr ? std::string_view{} : Text(instruction->name);
  }
  // "fusion.1{0}" for a part of a tuple.
  std::string NameWithIndex(uint32_t buffer) const {
    std::string name(HloName(buffer));
    const std::vector<int64_t>& index = program_.buffers[buffer].shape_index;
    for (size_t i = 0; i < index.size(); ++i) name += fmt::format("{}{}", i == 0 ? "{" : ",", index[i]);
    return index.empty() ? name : name + "}";
  }

  void NonZero(std::string_view key, double value) {
    if (value != 0) json_.Field(key, value);
  }
  void NonZero(std::string_view key, std::string_view text) {
    if (!text.empty()) json_.Field(key, text);
  }
  void NonZeroInt(std::string_view key, int64_t value) {
    if (value != 0) json_.Field(key, value);
  }

  void WriteTimelines() {
    if (!simulation_.has_trace) return;
    const auto curve = [&](std::string_view key, const std::vector<uint64_t>& values) {
      json_.Key(key);
      json_.StartArray();
      for (const uint64_t value : values) json_.Value(Mib(value + simulation_.indefinite_bytes));
      json_.EndArray();
    };
    curve("heapSizes", simulation_.heap_bytes);
    curve("unpaddedHeapSizes", simulation_.unpadded_bytes);
    json_.Key("hloInstructionNames");
    json_.StartArray();
    for (const StringId name : simulation_.instructions) json_.Value(Text(name));
    json_.EndArray();
    json_.Key("logicalBufferSpans");
    json_.StartObject();
    for (const BufferSpan& span : simulation_.spans) {
      json_.Key(fmt::format_int(program_.buffers[span.buffer].id).c_str());
      json_.StartObject();
      NonZeroInt("start", span.begin);
      NonZeroInt("limit", span.xprof_end);
      json_.EndObject();
    }
    json_.EndObject();
  }

  void AddObject(uint32_t buffer, std::string_view group, uint64_t& small_bytes) {
    const uint64_t size = program_.buffers[buffer].size_bytes;
    if (size < kSmallBytes) {
      small_bytes += size;
    } else {
      objects_.push_back({buffer, group, size});
    }
  }

  void CollectObjects() {
    uint64_t small_bytes = 0;
    if (space_ == kDeviceMemory) {
      for (const ProgramAllocation& allocation : program_.allocations) {
        if (allocation.space != space_ || !allocation.is_indefinite() || allocation.assigned.empty()) continue;
        uint32_t largest = allocation.assigned.front().buffer;
        for (const ProgramAssignment& assigned : allocation.assigned) {
          if (program_.buffers[assigned.buffer].size_bytes > program_.buffers[largest].size_bytes)
            largest = assigned.buffer;
        }
        AddObject(largest, GroupOf(allocation), small_bytes);
      }
    }
    for (const uint32_t buffer : simulation_.peak_buffers) AddObject(buffer, "Temporary", small_bytes);
    if (small_bytes > 0) objects_.push_back({.size_bytes = small_bytes});
  }

  void WriteSource(const ProgramInstruction& instruction) {
    if (instruction.frames.empty() && Text(instruction.source_file).empty()) return;
    json_.Key("sourceInfo");
    json_.StartObject();
    if (!instruction.frames.empty()) {
      const ProgramFrame& top = instruction.frames.front();
      NonZero("fileName", Text(top.file));
      NonZeroInt("lineNumber", top.line);
      std::string frames;
      for (const ProgramFrame& frame : instruction.frames) {
        frames += fmt::format("{}{}:{}:{}", frames.empty() ? "" : "\n", Text(frame.file), frame.line, frame.column);
      }
      NonZero("stackFrame", std::string_view(frames));
    } else {
      NonZero("fileName", Text(instruction.source_file));
      NonZeroInt("lineNumber", instruction.source_line);
    }
    json_.EndObject();
  }

  void WriteObject(size_t number) {
    const HeapObject& object = objects_[number];
    json_.StartObject();
    json_.Field("numbered", uint64_t{number});
    if (object.buffer == kNone) {
      json_.Field("label", std::string_view(fmt::format("small (<{} bytes)", kSmallBytes)));
      json_.Field("logicalBufferId", -1);
      json_.Field("logicalBufferSizeMib", Mib(object.size_bytes));
      json_.EndObject();
      return;
    }
    const ProgramBuffer& buffer = program_.buffers[object.buffer];
    const ProgramInstruction* instruction = InstructionOf(object.buffer);
    const std::string name = NameWithIndex(object.buffer);
    const std::string_view op = instruction == nullptr ? std::string_view{} : Text(instruction->op_name);
    const std::string_view shape = Text(buffer.shape);
    json_.Field("label", std::string_view(fmt::format("{}: {} # {}", HloName(object.buffer), shape, op)));
    NonZeroInt("logicalBufferId", buffer.id);
    NonZero("logicalBufferSizeMib", Mib(buffer.size_bytes));
    NonZero("unpaddedShapeMib", Mib(KnownUnpadded(buffer)));
    NonZero("instructionName", std::string_view(name));
    NonZero("shapeString", shape);
    NonZero("tfOpName", op);
    json_.Field("groupName", object.group);
    if (instruction != nullptr) {
      NonZero("opCode", Text(instruction->opcode));
      WriteSource(*instruction);
    }
    json_.EndObject();
  }

  void WriteMaxHeap() {
    CollectObjects();
    if (objects_.empty()) return;
    std::vector<size_t> by_size(objects_.size());
    for (size_t i = 0; i < by_size.size(); ++i) by_size[i] = i;
    // Not stable, as in XProf: with the same standard library the order of equal sizes is its order.
    std::sort(by_size.begin(), by_size.end(),
              [&](size_t a, size_t b) { return objects_[a].size_bytes > objects_[b].size_bytes; });
    std::vector<size_t> rank(objects_.size());
    for (size_t i = 0; i < by_size.size(); ++i) rank[by_size[i]] = i;
    json_.Key("maxHeap");
    json_.StartArray();
    for (size_t i = 0; i < objects_.size(); ++i) WriteObject(i);
    json_.EndArray();
    json_.Key("maxHeapBySize");
    json_.StartArray();
    for (const size_t i : by_size) WriteObject(i);
    json_.EndArray();
    const auto numbers = [&](std::string_view key, const std::vector<size_t>& values) {
      json_.Key(key);
      json_.StartArray();
      for (const size_t value : values) json_.Value(uint64_t{value});
      json_.EndArray();
    };
    numbers("maxHeapToBySize", rank);
    numbers("bySizeToMaxHeap", by_size);
  }

  void WriteTotals() {
    uint64_t parameters = 0, non_reusable = 0, live_out = 0, total = 0;
    for (const ProgramAllocation& allocation : program_.allocations) {
      if (allocation.space != space_) continue;
      if (allocation.is_entry_parameter) parameters += allocation.size_bytes;
      if (allocation.is_thread_local || allocation.is_tuple) non_reusable += allocation.size_bytes;
      if (allocation.may_live_out) live_out += allocation.size_bytes;
      if (!allocation.is_thread_local) total += allocation.size_bytes;
    }
    NonZero("entryComputationParametersMib", Mib(parameters));
    NonZero("nonReusableMib", Mib(non_reusable));
    NonZero("maybeLiveOutMib", Mib(live_out));
    NonZero("totalBufferAllocationMib", Mib(total));
    NonZero("indefiniteBufferAllocationMib", Mib(simulation_.indefinite_bytes));
    const ProgramScopedMemory* largest = nullptr;
    for (const ProgramScopedMemory& scoped : program_.scoped_memory) {
      if (space_ == 1 && scoped.space == 1 && (largest == nullptr || scoped.size_bytes > largest->size_bytes))
        largest = &scoped;
    }
    if (largest == nullptr) return;
    NonZero("maxScopedVmemAllocationMib", Mib(largest->size_bytes));
    NonZero("maxScopedVmemInstructionName", Text(largest->instruction));
  }

  void WriteAttributes(const ProgramAllocation& allocation) {
    std::vector<std::string_view> attributes;
    if (allocation.is_entry_parameter) attributes.emplace_back("entry computation parameter");
    if (allocation.may_live_out) attributes.emplace_back("may-be live out");
    if (!allocation.is_thread_local && !allocation.is_tuple) attributes.emplace_back("reusable");
    if (attributes.empty()) return;
    json_.Key("attributes");
    json_.StartArray();
    for (const std::string_view attribute : attributes) json_.Value(attribute);
    json_.EndArray();
  }

  void WriteLifetime(const ProgramAllocation& allocation) {
    json_.StartObject();
    if (allocation.index != 0) json_.Field("id", std::string_view(fmt::format_int(allocation.index).c_str()));
    NonZero("sizeMib", Mib(allocation.size_bytes));
    WriteAttributes(allocation);
    if (!allocation.assigned.empty()) {
      json_.Key("logicalBuffers");
      json_.StartArray();
      for (const ProgramAssignment& assigned : allocation.assigned) WriteLogicalBuffer(assigned.buffer);
      json_.EndArray();
      const StringId shape = program_.buffers[allocation.assigned.front().buffer].shape;
      const bool is_common = std::all_of(
          allocation.assigned.begin(), allocation.assigned.end(),
          [&](const ProgramAssignment& assigned) { return program_.buffers[assigned.buffer].shape == shape; });
      if (is_common) NonZero("commonShape", Text(shape));
    }
    json_.EndObject();
  }

  void WriteLogicalBuffer(uint32_t row) {
    const ProgramBuffer& buffer = program_.buffers[row];
    json_.StartObject();
    if (buffer.id != 0) json_.Field("id", std::string_view(fmt::format_int(buffer.id).c_str()));
    NonZero("shape", Text(buffer.shape));
    NonZero("sizeMib", Mib(buffer.size_bytes));
    NonZero("hloName", HloName(row));
    if (!buffer.shape_index.empty()) {
      json_.Key("shapeIndex");
      json_.StartArray();
      for (const int64_t part : buffer.shape_index) json_.Value(std::string_view(fmt::format_int(part).c_str()));
      json_.EndArray();
    }
    json_.EndObject();
  }

  void WriteLifetimes() {
    json_.Key("indefiniteLifetimes");
    json_.StartArray();
    for (const ProgramAllocation& allocation : program_.allocations) {
      if (allocation.space == space_ && allocation.is_indefinite()) WriteLifetime(allocation);
    }
    json_.EndArray();
  }

  // The allocations of temporaries on top of each other, each block where it lies and while it lives.
  void WriteBlocks() {
    if (!simulation_.has_trace) return;
    json_.Key("bufferBlocks");
    json_.StartArray();
    const auto event_count = static_cast<uint32_t>(simulation_.heap_bytes.size() - 1);
    FlatMap<uint32_t, size_t> numbers;  // buffer → its number in maxHeap
    for (size_t i = 0; i < objects_.size(); ++i) {
      if (objects_[i].buffer != kNone) numbers[objects_[i].buffer] = i;
    }
    FlatMap<uint32_t, const ProgramAssignment*> places;
    const ProgramAllocation* simulated = nullptr;
    for (const ProgramAllocation& allocation : program_.allocations) {
      for (const ProgramAssignment& assigned : allocation.assigned) {
        if (simulation_.spans.empty() || simulated != nullptr || assigned.buffer != simulation_.spans.front().buffer)
          continue;
        simulated = &allocation;
      }
    }
    if (simulated != nullptr && simulated->is_temporary()) {
      for (const ProgramAssignment& assigned : simulated->assigned) places[assigned.buffer] = &assigned;
      json_.StartObject();
      json_.Field("logicalBufferId", -1);
      json_.Field("name", "Temporary");
      NonZeroInt("size", static_cast<int64_t>(simulated->size_bytes));
      NonZeroInt("endStep", event_count);
      json_.Field("category", "Temporary");
      json_.Field("color", "#ffffff");
      json_.EndObject();
      size_t drawn_count = 1;
      for (const BufferSpan& span : simulation_.spans) {
        const auto place = places.find(span.buffer);
        if (place == places.end()) continue;
        const auto number = numbers.find(span.buffer);
        WriteBlock(span, *place->second, XProfBlockColor(number == numbers.end() ? drawn_count : number->second));
        const double height = static_cast<double>(place->second->size_bytes) * kDrawingPoints /
                              static_cast<double>(simulated->size_bytes);
        const double width = (span.xprof_end - span.begin) * kDrawingPoints / event_count;
        if (height >= 1 && width >= 1) ++drawn_count;
      }
    }
    json_.EndArray();
  }

  void WriteBlock(const BufferSpan& span, const ProgramAssignment& place, std::string_view color) {
    const ProgramBuffer& buffer = program_.buffers[span.buffer];
    const ProgramInstruction* instruction = InstructionOf(span.buffer);
    json_.StartObject();
    NonZeroInt("logicalBufferId", buffer.id);
    json_.Field("name", std::string_view(NameWithIndex(span.buffer)));
    NonZeroInt("offset", static_cast<int64_t>(place.offset_bytes));
    NonZeroInt("size", static_cast<int64_t>(place.size_bytes));
    NonZeroInt("startStep", span.begin);
    NonZeroInt("endStep", span.xprof_end);
    if (instruction != nullptr) NonZero("tfOpName", Text(instruction->op_name));
    json_.Field("category", "Temporary");
    if (instruction != nullptr) WriteSource(*instruction);
    NonZero("shapeString", Text(buffer.shape));
    NonZeroInt("unpaddedSize", static_cast<int64_t>(KnownUnpadded(buffer)));
    json_.Field("color", color);
    json_.EndObject();
  }

  const Store& store_;
  const Program& program_;
  int64_t space_;
  HeapSimulation simulation_;
  std::vector<HeapObject> objects_;
  JsonWriter json_;
};

}  // namespace

Status WriteXProfMemoryViewer(const Store& store, const Program& program, int64_t space, ByteSink& out) {
  if (!program.problem.empty())
    return Fail(ErrorCode::kCorruptInput, fmt::format("{}: {}", program.label, program.problem));
  MEMSTRATA_ASSIGN_OR_RETURN(HeapSimulation simulation, SimulateHeap(program, space));
  const std::string_view format = store.sources[program.source].format;
  const bool says_when = format == "xplane" || format == "xla_buffers";
  if (!says_when && !simulation.has_trace) {
    return Fail(ErrorCode::kInvalidArgument,
                "XProf's Memory Viewer shows when values live, which this text does not say; convert the HLO proto "
                "(*.hlo.pb) that XLA dumps beside it.");
  }
  return out.Write(ViewerWriter(store, program, space, std::move(simulation)).Write());
}

}  // namespace memstrata
