#include "readers/xla/buffer_assignment_text.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/flat_map.h"
#include "readers/xla/report_text.h"
#include "readers/xla/shape_text.h"

namespace memstrata::xla {
namespace {

constexpr uint64_t kLargestBytes = uint64_t{1} << 60;  // no program asks for an exabyte

// Cuts what stands between the first pair of bars out of `line` and returns it.
std::string_view CutShape(std::string_view line, std::string& without) {
  const size_t begin = line.find('|');
  const size_t end = begin == std::string_view::npos ? begin : line.find('|', begin + 1);
  if (end == std::string_view::npos) {
    without = line;
    return {};
  }
  without = line.substr(0, begin);
  // A second shape ("output shape is |…|") may hold no flags either.
  std::string_view rest = line.substr(end + 1);
  const size_t second = rest.find('|');
  const size_t second_end = second == std::string_view::npos ? second : rest.find('|', second + 1);
  if (second_end != std::string_view::npos) {
    without += rest.substr(0, second);
    rest.remove_prefix(second_end + 1);
  }
  without += rest;
  return line.substr(begin + 1, end - begin - 1);
}

class AssignmentReader {
 public:
  AssignmentReader(StringPool& strings, TextCounts& counts) : strings_(strings), counts_(counts) {}

  Program Read(std::string_view text) {
    LineWalk walk(text);
    while (walk.Next()) {
      const std::string_view line = walk.line();
      if (line.starts_with("Total bytes used:")) break;  // older XLA repeats the values in another form after this
      if (line.empty() || line.starts_with(kBufferAssignmentHead) || IsRepetition(line)) continue;
      if (line.starts_with("allocation ") ? AddAllocation(line) : AddValue(line)) continue;
      if (walk.is_open()) {
        counts_.is_cut_off = true;
      } else {
        counts_.NoteUnknown(walk.offset_bytes());
      }
    }
    for (ProgramAllocation& allocation : program_.allocations) MarkTuple(allocation);
    return std::move(program_);
  }

 private:
  // Values of another memory space that use an allocation stand in its list already.
  static bool IsRepetition(std::string_view line) {
    return line.starts_with(" reused by buffers of a different color:") || line.starts_with("  value: ");
  }

  bool AddAllocation(std::string_view line) {
    std::optional<AllocationLine> parsed = ParseAllocationLine(line);
    if (!parsed) return false;
    const std::string_view text = parsed->size_text;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), parsed->allocation.size_bytes);
    const bool is_size = problem == std::errc{} && end == text.data() + text.size();
    if (!is_size || parsed->allocation.size_bytes > kLargestBytes) return false;
    program_.allocations.push_back(std::move(parsed->allocation));
    return true;
  }

  // " value: <127 arg_tuple.3{0} (phi) @0> (size=12800,offset=0): f32[200,16]{1,0}"
  bool AddValue(std::string_view line) {
    const size_t name_end = line.find("> (size=");
    if (!line.starts_with(" value: <") || name_end == std::string_view::npos || program_.allocations.empty())
      return false;
    const std::string_view head = line.substr(9, name_end - 9);
    const std::string_view tail = line.substr(name_end);
    const auto size = NumberAfter(tail, "(size=");
    const auto offset = NumberAfter(tail, ",offset=");
    const size_t shape_begin = tail.find("): ");
    const size_t space_begin = head.rfind(" @");
    if (!size || !offset || *size > kLargestBytes || *offset > kLargestBytes) return false;
    if (shape_begin == std::string_view::npos || space_begin == std::string_view::npos) return false;
    ProgramBuffer buffer{.shape = StringId{0}};
    buffer.id = static_cast<int64_t>(NumberAfter(head, "").value_or(0));
    buffer.size_bytes = *size;
    buffer.space = static_cast<int64_t>(NumberAfter(head.substr(space_begin), " @").value_or(0));
    std::string_view shape_text = tail.substr(shape_begin + 3);
    buffer.shape = strings_.Intern(shape_text);
    const std::optional<HloShape> shape = TakeShape(shape_text);
    buffer.unpadded_bytes = shape ? UnpaddedBytes(*shape) : kUnknownBytes;
    NameBuffer(head.substr(0, space_begin), buffer);
    ProgramAllocation& allocation = program_.allocations.back();
    allocation.assigned.push_back({static_cast<uint32_t>(program_.buffers.size()), *offset, *size});
    if (shape && shape->is_tuple()) ++tuple_counts_[static_cast<uint64_t>(allocation.index)];
    program_.buffers.push_back(std::move(buffer));
    return true;
  }

  // "127 arg_tuple.3{0} (phi)": number, instruction, part of its shape.
  void NameBuffer(std::string_view head, ProgramBuffer& buffer) {
    const size_t begin = head.find(' ');
    if (begin == std::string_view::npos) return;
    std::string_view name = head.substr(begin + 1);
    name = name.substr(0, name.find(' '));
    const size_t part = name.find('{');
    if (part != std::string_view::npos) {
      std::string_view numbers = name.substr(part + 1);
      while (const auto number = NumberAfter(numbers, "")) {
        buffer.shape_index.push_back(static_cast<int64_t>(*number));
        const size_t comma = numbers.find(',');
        if (comma == std::string_view::npos) break;
        numbers.remove_prefix(comma + 1);
      }
      name = name.substr(0, part);
    }
    const auto [entry, is_new] =
        instructions_.try_emplace(strings_.Intern(name).value, static_cast<uint32_t>(program_.instructions.size()));
    buffer.instruction = entry->second;
    if (!is_new) return;
    program_.instructions.push_back(
        {.name = strings_.Intern(name), .opcode = StringId{0}, .op_name = StringId{0}, .source_file = StringId{0}});
  }

  // An allocation that holds nothing but tables of pointers.
  void MarkTuple(ProgramAllocation& allocation) {
    const auto found = tuple_counts_.find(static_cast<uint64_t>(allocation.index));
    allocation.is_tuple = found != tuple_counts_.end() && found->second == allocation.assigned.size();
  }

  StringPool& strings_;
  TextCounts& counts_;
  Program program_;
  FlatMap<uint64_t, uint32_t> instructions_;  // by name
  FlatMap<uint64_t, uint64_t> tuple_counts_;  // by allocation
};

}  // namespace

std::optional<AllocationLine> ParseAllocationLine(std::string_view line) {
  const auto index = NumberAfter(line, "allocation ");
  std::string flags;
  AllocationLine parsed;
  parsed.shape_text = CutShape(line, flags);
  const size_t size_begin = line.find("size ");
  if (!line.starts_with("allocation ") || !index || size_begin == std::string_view::npos) return std::nullopt;
  parsed.size_text = line.substr(size_begin + 5);
  parsed.size_text = parsed.size_text.substr(0, parsed.size_text.find_first_of(",:"));
  const auto has = [&](std::string_view flag) { return flags.find(flag) != std::string::npos; };
  ProgramAllocation& allocation = parsed.allocation;
  allocation.index = static_cast<int64_t>(*index);
  allocation.space = static_cast<int64_t>(NumberAfter(flags, ", color ").value_or(0));
  const auto parameter = NumberAfter(flags, ", parameter ");
  allocation.is_entry_parameter = parameter.has_value();
  allocation.parameter_number = static_cast<int64_t>(parameter.value_or(0));
  allocation.is_constant = has(", constant");
  allocation.is_thread_local = has(", thread-local");
  allocation.may_live_out = has(", maybe-live-out");
  return parsed;
}

Program ReadBufferAssignmentText(std::string_view text, StringPool& strings, TextCounts& counts) {
  return AssignmentReader(strings, counts).Read(text);
}

}  // namespace memstrata::xla
