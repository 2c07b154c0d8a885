#pragma once
// Reads XLA's text report of a buffer assignment (`*-buffer-assignment.txt` of --xla_dump_to): allocations with their
// roles, and the values that lie in them with offset and shape. The report does not say when a value is live.

#include <string_view>

#include "base/result.h"
#include "model/store/programs.h"
#include "model/table/string_pool.h"

namespace memstrata::xla {

/// The first line of the report.
inline constexpr std::string_view kBufferAssignmentHead = "BufferAssignment:";

/// What a line such as "allocation 3: size 32, parameter 0, shape |f32[8]| at ShapeIndex {}, maybe-live-out:" says;
/// nothing when it is none. `size_text` is the size as written: "32" here, "1.53MiB" in memory-usage reports.
struct AllocationLine {
  ProgramAllocation allocation;  // without size
  std::string_view size_text;
  std::string_view shape_text;  // of the parameter or output; may be empty
};
std::optional<AllocationLine> ParseAllocationLine(std::string_view line);

/// How much of a text report was understood.
struct TextCounts {
  uint64_t unknown_lines = 0;
  uint64_t first_unknown_offset = 0;
  uint64_t rounded_sizes = 0;  // only known as rounded text
  uint64_t left_out = 0;       // values that XLA itself left out of the report as small
  bool is_cut_off = false;

  void NoteUnknown(uint64_t offset_bytes) {
    if (unknown_lines++ == 0) first_unknown_offset = offset_bytes;
  }
};

/// The program of a report; its name is the caller's to give. Lines that are not understood are counted.
/// Cost: O(bytes).
Program ReadBufferAssignmentText(std::string_view text, StringPool& strings, TextCounts& counts);

}  // namespace memstrata::xla
