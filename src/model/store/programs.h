#pragma once
// Compiled programs and the compiler's plan of their memory: what a buffer is, which allocation it lies in, and the
// order in which buffers come and go. From XLA's HloProto, with terms that hold for any static plan.
//
// Sizes are bytes. Program points are positions in the heap trace of the allocation that a buffer lies in.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/table/id.h"

namespace memstrata {

/// Where an instruction comes from, innermost frame first.
struct ProgramFrame {
  StringId file;
  uint32_t line = 0;
  uint32_t column = 0;
};

struct ProgramInstruction {
  StringId name;
  StringId opcode;
  StringId op_name;  // the framework's operation, "jit(f)/dot_general"
  StringId source_file;
  uint32_t source_line = 0;
  std::vector<ProgramFrame> frames;
};

/// One value of the program (XLA: logical buffer).
struct ProgramBuffer {
  int64_t id = 0;
  uint64_t size_bytes = 0;      // with padding
  uint64_t unpadded_bytes = 0;  // by its shape alone; kUnknownBytes where the shape is not understood
  uint32_t instruction = kNone;
  std::vector<int64_t> shape_index;  // which part of a tuple
  StringId shape;                    // "f32[200,16]{1,0}"
  int64_t space = 0;                 // XLA memory space ("color"): 0 device memory, 1 on-chip, 5 host …
};

struct ProgramAssignment {
  uint32_t buffer = kNone;  // → buffers
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
};

/// One piece of memory that the program asks for; buffers that do not live together share it.
struct ProgramAllocation {
  int64_t index = 0;
  uint64_t size_bytes = 0;
  int64_t space = 0;
  bool is_thread_local = false;
  bool is_entry_parameter = false;
  bool is_constant = false;
  bool is_tuple = false;
  bool may_live_out = false;  // holds a result of the program
  int64_t parameter_number = 0;
  std::vector<ProgramAssignment> assigned;

  /// Lives for the whole run.
  bool is_indefinite() const { return is_entry_parameter || is_constant || may_live_out; }
  bool is_temporary() const { return !is_indefinite() && !is_thread_local; }
};

struct ProgramHeapEvent {
  enum Kind : uint8_t { kAlloc = 0, kFree = 1, kShare = 2 };
  Kind kind = kAlloc;
  int64_t buffer_id = 0;
  int64_t shared_with_id = 0;  // kShare: the buffer whose memory is used
  StringId instruction;
};

struct ProgramHeapTrace {
  std::vector<ProgramHeapEvent> events;
  int64_t allocation_index = 0;
};

/// An output that may use the memory of a parameter (donation).
struct ProgramAlias {
  std::vector<int64_t> output_index;
  int64_t parameter_number = 0;
  std::vector<int64_t> parameter_index;
  bool is_required = false;  // must alias; otherwise may
};

/// A named amount of on-chip memory that an instruction asks for by itself.
struct ProgramScopedMemory {
  StringId instruction;
  int64_t space = 0;
  uint64_t size_bytes = 0;
};

struct Program {
  std::string name;   // "jit_f"
  std::string label;  // "jit_f(15)"; unique in its source
  uint64_t id = 0;
  uint32_t source = 0;
  std::string entry_computation;
  std::vector<ProgramInstruction> instructions;
  std::vector<ProgramBuffer> buffers;
  std::vector<ProgramAllocation> allocations;
  std::vector<ProgramHeapTrace> traces;
  std::vector<ProgramAlias> aliases;
  std::vector<ProgramScopedMemory> scoped_memory;
  /// False: the source does not say what allocations are for; their flags mean nothing.
  bool has_roles = true;
  /// Sizes are as rounded in a text for people, or do not add up to its total.
  bool has_rounded_sizes = false;
  /// Σ allocations of memory space 0, thread-local ones included, where the source states it.
  std::optional<uint64_t> stated_total_bytes;
  /// The plan is inconsistent (a buffer without an instruction …): what is wrong, else empty.
  std::string problem;
};

}  // namespace memstrata
