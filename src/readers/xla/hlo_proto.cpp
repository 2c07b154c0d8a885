#include "readers/xla/hlo_proto.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/flat_map.h"
#include "io/protowire/message.h"
#include "readers/xla/hlo_shape.h"
#include "readers/xla/scoped_memory.h"
#include "readers/xla/stack_frames.h"

namespace memstrata::xla {
namespace {

using protozero::tag_and_type;
constexpr auto kMessage = WireType::length_delimited;
constexpr auto kVarint = WireType::varint;

class HloReader {
 public:
  HloReader(std::string_view bytes, StringPool& strings) : bytes_(bytes), strings_(strings) {}

  // Throws protozero::exception.
  void Read() {
    std::string_view module;
    std::string_view assignment;
    WireMessage message(bytes_);
    while (message.next()) {
      switch (message.tag_and_type()) {
        case tag_and_type(1, kMessage):
          module = message.get_view();
          break;
        case tag_and_type(3, kMessage):
          assignment = message.get_view();
          break;
        default:
          message.skip();
      }
    }
    has_module_ = !module.empty();
    ReadModule(module);
    ReadAssignment(assignment);
  }

  bool has_module() const { return has_module_; }
  Program TakeProgram() { return std::move(program_); }

 private:
  void ReadModule(std::string_view bytes) {
    std::string_view frame_index;
    std::vector<std::string_view> computations;
    WireMessage message(bytes);
    while (message.next()) {
      switch (message.tag_and_type()) {
        case tag_and_type(1, kMessage):
          program_.name = message.get_view();
          break;
        case tag_and_type(2, kMessage):
          program_.entry_computation = message.get_view();
          break;
        case tag_and_type(3, kMessage):
          computations.push_back(message.get_view());
          break;
        case tag_and_type(5, kVarint):
          program_.id = message.get_uint64();
          break;
        case tag_and_type(8, kMessage):
          ReadAliases(message.get_view());
          break;
        case tag_and_type(17, kMessage):
          frame_index = message.get_view();
          break;
        default:
          message.skip();
      }
    }
    frames_ = StackFrames(frame_index, strings_);
    for (const std::string_view computation : computations) ReadComputation(computation);
  }

  void ReadComputation(std::string_view bytes) {
    WireMessage message(bytes);
    while (message.next()) {
      if (message.tag_and_type() == tag_and_type(2, kMessage)) {
        ReadInstruction(message.get_view());
      } else {
        message.skip();
      }
    }
  }

  void ReadInstruction(std::string_view bytes) {
    ProgramInstruction instruction{
        .name = StringId{0}, .opcode = StringId{0}, .op_name = StringId{0}, .source_file = StringId{0}};
    int64_t id = 0;
    HloShape shape;
    std::string_view backend_config;
    WireMessage message(bytes);
    while (message.next()) {
      switch (message.tag_and_type()) {
        case tag_and_type(1, kMessage):
          instruction.name = strings_.Intern(message.get_view());
          break;
        case tag_and_type(2, kMessage):
          instruction.opcode = strings_.Intern(message.get_view());
          break;
        case tag_and_type(3, kMessage):
          shape = ReadHloShape(message.get_view());
          break;
        case tag_and_type(7, kMessage):
          ReadMetadata(message.get_view(), instruction);
          break;
        case tag_and_type(35, kVarint):
          id = message.get_int64();
          break;
        case tag_and_type(43, kMessage):
          backend_config = message.get_view();
          break;
        default:
          message.skip();
      }
    }
    const auto row = static_cast<uint32_t>(program_.instructions.size());
    by_id_[static_cast<uint64_t>(id)] = row;
    by_name_[instruction.name.value] = row;
    for (const ScopedMemory& scoped : ReadScopedMemory(backend_config)) {
      program_.scoped_memory.push_back({instruction.name, scoped.space, scoped.size_bytes});
    }
    program_.instructions.push_back(std::move(instruction));
    shapes_.push_back(std::move(shape));
  }

  void ReadMetadata(std::string_view bytes, ProgramInstruction& instruction) {
    WireMessage message(bytes);
    while (message.next()) {
      switch (message.tag_and_type()) {
        case tag_and_type(2, kMessage):
          instruction.op_name = strings_.Intern(message.get_view());
          break;
        case tag_and_type(3, kMessage):
          instruction.source_file = strings_.Intern(message.get_view());
          break;
        case tag_and_type(4, kVarint):
          instruction.source_line = static_cast<uint32_t>(message.get_int32());
          break;
        case tag_and_type(15, kVarint):
          instruction.frames = frames_.Chain(message.get_int32());
          break;
        default:
          message.skip();
      }
    }
  }

  static std::vector<int64_t> Numbers(WireMessage& message) {
    if (message.wire_type() == kVarint) return {message.get_int64()};
    const auto range = message.get_packed_int64();
    return {range.begin(), range.end()};
  }

  // HloInputOutputAliasProto {1 entries {1 output_shape_index*, 2 parameter_number, 3 parameter_shape_index*, 4 kind}}.
  void ReadAliases(std::string_view bytes) {
    WireMessage message(bytes);
    while (message.next()) {
      if (message.tag_and_type() != tag_and_type(1, kMessage)) {
        message.skip();
        continue;
      }
      ProgramAlias alias;
      WireMessage entry(message.get_view());
      while (entry.next()) {
        if (entry.tag() == 1 && (entry.wire_type() == kVarint || entry.wire_type() == kMessage)) {
          const std::vector<int64_t> index = Numbers(entry);
          alias.output_index.insert(alias.output_index.end(), index.begin(), index.end());
        } else if (entry.tag_and_type() == tag_and_type(2, kVarint)) {
          alias.parameter_number = entry.get_int64();
        } else if (entry.tag() == 3 && (entry.wire_type() == kVarint || entry.wire_type() == kMessage)) {
          const std::vector<int64_t> index = Numbers(entry);
          alias.parameter_index.insert(alias.parameter_index.end(), index.begin(), index.end());
        } else if (entry.tag_and_type() == tag_and_type(4, kVarint)) {
          alias.is_required = entry.get_int32() == 2;
        } else {
          entry.skip();
        }
      }
      program_.aliases.push_back(std::move(alias));
    }
  }

  void ReadAssignment(std::string_view bytes) {
    std::vector<std::string_view> allocations;
    std::vector<std::string_view> traces;
    WireMessage message(bytes);
    while (message.next()) {
      switch (message.tag_and_type()) {
        case tag_and_type(1, kMessage):
          ReadBuffer(message.get_view());
          break;
        case tag_and_type(3, kMessage):
          allocations.push_back(message.get_view());
          break;
        case tag_and_type(4, kMessage):
          traces.push_back(message.get_view());
          break;
        default:
          message.skip();
      }
    }
    for (const std::string_view allocation : allocations) ReadAllocation(allocation);
    for (const std::string_view trace : traces) ReadTrace(trace);
  }

  void ReadBuffer(std::string_view bytes) {
    ProgramBuffer buffer{.shape = StringId{0}};
    std::string_view defined_at;
    WireMessage message(bytes);
    while (message.next()) {
      switch (message.tag_and_type()) {
        case tag_and_type(1, kVarint):
          buffer.id = message.get_int64();
          break;
        case tag_and_type(2, kVarint):
          buffer.size_bytes = Size(message.get_int64());
          break;
        case tag_and_type(3, kMessage):
          defined_at = message.get_view();
          break;
        case tag_and_type(4, kVarint):
          buffer.space = message.get_int64();
          break;
        default:
          message.skip();
      }
    }
    ReadLocation(defined_at, buffer);
    buffer_rows_[static_cast<uint64_t>(buffer.id)] = static_cast<uint32_t>(program_.buffers.size());
    program_.buffers.push_back(std::move(buffer));
  }

  // BufferAllocation location {2 instruction_name (older), 3 shape_index*, 4 instruction_id}.
  void ReadLocation(std::string_view bytes, ProgramBuffer& buffer) {
    uint64_t instruction_id = 0;
    std::string_view name;
    WireMessage message(bytes);
    while (message.next()) {
      if (message.tag_and_type() == tag_and_type(2, kMessage)) {
        name = message.get_view();
      } else if (message.tag() == 3 && (message.wire_type() == kVarint || message.wire_type() == kMessage)) {
        const std::vector<int64_t> index = Numbers(message);
        buffer.shape_index.insert(buffer.shape_index.end(), index.begin(), index.end());
      } else if (message.tag_and_type() == tag_and_type(4, kVarint)) {
        instruction_id = message.get_uint64();
      } else {
        message.skip();
      }
    }
    const auto found = name.empty() ? by_id_.find(instruction_id) : by_name_.find(strings_.Intern(name).value);
    if (found == (name.empty() ? by_id_.end() : by_name_.end())) {
      NoteProblem(fmt::format("Buffer {} is defined by an instruction that is not in the program.", buffer.id));
      return;
    }
    buffer.instruction = found->second;
    const HloShape* shape = &shapes_[buffer.instruction];
    for (const int64_t part : buffer.shape_index) {
      if (!shape->is_tuple() || part < 0 || static_cast<size_t>(part) >= shape->tuple.size()) {
        NoteProblem(fmt::format("Buffer {} names part {} of a shape that has no such part.", buffer.id, part));
        return;
      }
      shape = &shape->tuple[static_cast<size_t>(part)];
    }
    buffer.shape = strings_.Intern(ShapeText(*shape));
    buffer.unpadded_bytes = UnpaddedBytes(*shape);
  }

  void ReadAllocation(std::string_view bytes) {
    ProgramAllocation allocation;
    WireMessage message(bytes);
    while (message.next()) {
      if (message.tag_and_type() == tag_and_type(9, kMessage)) {
        ReadAssigned(message.get_view(), allocation);
        continue;
      }
      if (message.wire_type() != kVarint) {
        message.skip();
        continue;
      }
      const uint32_t field = message.tag();
      const int64_t value = message.get_int64();
      switch (field) {
        case 1:
          allocation.index = value;
          break;
        case 2:
          allocation.size_bytes = Size(value);
          break;
        case 3:
          allocation.is_thread_local = value != 0;
          break;
        case 5:
          allocation.is_entry_parameter = value != 0;
          break;
        case 6:
          allocation.parameter_number = value;
          break;
        case 7:
          allocation.may_live_out = value != 0;
          break;
        case 8:
          allocation.space = value;
          break;
        case 11:
          allocation.is_tuple = value != 0;
          break;
        case 12:
          allocation.is_constant = value != 0;
          break;
        default:
          break;
      }
    }
    program_.allocations.push_back(std::move(allocation));
  }

  void ReadAssigned(std::string_view bytes, ProgramAllocation& allocation) {
    ProgramAssignment assigned;
    int64_t buffer_id = 0;
    WireMessage message(bytes);
    while (message.next()) {
      switch (message.tag_and_type()) {
        case tag_and_type(1, kVarint):
          buffer_id = message.get_int64();
          break;
        case tag_and_type(2, kVarint):
          assigned.offset_bytes = Size(message.get_int64());
          break;
        case tag_and_type(3, kVarint):
          assigned.size_bytes = Size(message.get_int64());
          break;
        default:
          message.skip();
      }
    }
    const auto found = buffer_rows_.find(static_cast<uint64_t>(buffer_id));
    if (found == buffer_rows_.end()) {
      NoteProblem(fmt::format("Allocation {} holds buffer {}, which is not described.", allocation.index, buffer_id));
      return;
    }
    assigned.buffer = found->second;
    allocation.assigned.push_back(assigned);
  }

  void ReadTrace(std::string_view bytes) {
    ProgramHeapTrace trace;
    WireMessage message(bytes);
    while (message.next()) {
      switch (message.tag_and_type()) {
        case tag_and_type(1, kMessage):
          trace.events.push_back(ReadHeapEvent(message.get_view()));
          break;
        case tag_and_type(3, kVarint):
          trace.allocation_index = message.get_int64();
          break;
        default:
          message.skip();
      }
    }
    program_.traces.push_back(std::move(trace));
  }

  ProgramHeapEvent ReadHeapEvent(std::string_view bytes) {
    ProgramHeapEvent event{.instruction = StringId{0}};
    WireMessage message(bytes);
    while (message.next()) {
      switch (message.tag_and_type()) {
        case tag_and_type(1, kVarint):
          event.kind = static_cast<ProgramHeapEvent::Kind>(std::min<uint64_t>(message.get_uint64(), 255));
          break;
        case tag_and_type(2, kVarint):
          event.buffer_id = message.get_int64();
          break;
        case tag_and_type(4, kMessage):
          event.instruction = strings_.Intern(message.get_view());
          break;
        case tag_and_type(5, kVarint):
          event.shared_with_id = message.get_int64();
          break;
        default:
          message.skip();
      }
    }
    return event;
  }

  uint64_t Size(int64_t value) {
    if (value >= 0) return static_cast<uint64_t>(value);
    NoteProblem("A size or offset is negative; it is taken as 0.");
    return 0;
  }

  void NoteProblem(std::string text) {
    if (program_.problem.empty()) program_.problem = std::move(text);
  }

  std::string_view bytes_;
  StringPool& strings_;
  Program program_;
  std::vector<HloShape> shapes_;  // by instruction
  StackFrames frames_;
  FlatMap<uint64_t, uint32_t> by_id_;
  FlatMap<uint64_t, uint32_t> by_name_;
  FlatMap<uint64_t, uint32_t> buffer_rows_;
  bool has_module_ = false;
};

}  // namespace

bool LooksLikeHloProto(std::string_view head) {
  // {1 hlo_module {1 name, 2 entry_computation_name, …}}: a name and a name come first.
  FieldWalk walk(head);
  if (!walk.Next() || walk.field() != 1 || !walk.is_message()) return false;
  FieldWalk module(walk.payload());
  if (!module.Next() || module.field() != 1 || !module.is_message() || module.payload().empty()) return false;
  for (const char c : module.payload()) {
    if (static_cast<unsigned char>(c) < 0x20) return false;
  }
  return module.Next() && module.field() == 2 && module.is_message();
}

Result<Program> ReadHloProto(std::string_view bytes, StringPool& strings) {
  HloReader reader(bytes, strings);
  MEMSTRATA_TRY(GuardMessage(0, [&] { reader.Read(); }));
  if (!reader.has_module())
    return Fail(ErrorCode::kUnsupportedFormat, "This HloProto holds no program (its hlo_module is missing).");
  Program program = reader.TakeProgram();
  if (program.label.empty()) program.label = program.name;
  return program;
}

}  // namespace memstrata::xla
