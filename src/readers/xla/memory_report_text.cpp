#include "readers/xla/memory_report_text.h"

#include <algorithm>
#include <array>
#include <optional>

#include "readers/xla/report_text.h"
#include "readers/xla/shape_text.h"

namespace memstrata::xla {
namespace {

constexpr std::string_view kTableHead = "cumulative_size;";
constexpr uint64_t kLargestBytes = uint64_t{1} << 60;  // no report is about an exabyte

// The largest of the shapes in a list such as "f32[8,32], 2×s32[8,2]"; nothing when one of them is not understood.
std::optional<uint64_t> LargestShapeBytes(std::string_view list) {
  constexpr std::string_view kTimes = "×";
  uint64_t largest = 0;
  while (!list.empty()) {
    const size_t count_end = list.find_first_not_of("0123456789");
    if (count_end != std::string_view::npos && list.substr(count_end).starts_with(kTimes))
      list.remove_prefix(count_end + kTimes.size());
    const std::optional<HloShape> shape = TakeShape(list);
    if (!shape) return std::nullopt;
    largest = std::max(largest, UnpaddedBytes(*shape));
    if (list.starts_with(", ")) {
      list.remove_prefix(2);
    } else if (!list.empty()) {
      return std::nullopt;
    }
  }
  return largest;
}

class ReportReader {
 public:
  ReportReader(StringPool& strings, TextCounts& counts) : strings_(strings), counts_(counts) {}

  Program Read(std::string_view text) {
    LineWalk walk(text);
    while (walk.Next()) {
      const std::string_view line = Trimmed(walk.line());
      if (line.empty() || line.starts_with("---") || ReadLine(line)) continue;
      if (walk.is_open()) {
        counts_.is_cut_off = true;
      } else {
        counts_.NoteUnknown(walk.offset_bytes());
      }
    }
    for (ProgramAllocation& allocation : program_.allocations) SizeFromSlots(allocation);
    CountRounded();
    return std::move(program_);
  }

 private:
  bool ReadLine(std::string_view line) {
    if (line.starts_with("Memory Space: ")) {
      space_ = static_cast<int64_t>(NumberAfter(line, "(color=").value_or(0));
      program_.has_roles = false;
      return true;
    }
    if (line.starts_with("Total bytes")) return AddTotal(line);
    if (line.starts_with("Allocations sorted by size")) return true;
    if (line.starts_with("The rest ")) {
      counts_.left_out += NumberAfter(line, "The rest ").value_or(0);
      return true;
    }
    if (line.starts_with("cumulative_size; total_size")) return true;
    if (line.starts_with(kTableHead)) {
      if (!program_.has_roles) program_.allocations.push_back({.index = NextIndex(), .space = space_, .assigned = {}});
      return true;
    }
    if (line.starts_with("allocation ")) return AddAllocation(line);
    // Rows of the list of older reports repeat the allocations, which stand below again with their values.
    return line.find("; allocation ") != std::string_view::npos || AddSlot(line);
  }

  int64_t NextIndex() const { return static_cast<int64_t>(program_.allocations.size()); }

  bool AddTotal(std::string_view line) {
    const std::optional<uint64_t> total = NumberAfter(line, ": ");
    if (!total) return false;
    if (space_ == 0)
      program_.stated_total_bytes = program_.stated_total_bytes.value_or(0) + std::min(*total, kLargestBytes);
    return true;
  }

  bool AddAllocation(std::string_view line) {
    std::optional<AllocationLine> parsed = ParseAllocationLine(line);
    const auto rounded = parsed ? ParseReportBytes(Trimmed(parsed->size_text)) : std::nullopt;
    if (!rounded || *rounded > kLargestBytes) return false;
    ProgramAllocation& allocation = parsed->allocation;
    allocation.size_bytes = *rounded;
    std::string_view shape_text = parsed->shape_text;
    const std::optional<HloShape> shape = TakeShape(shape_text);
    const uint64_t by_shape = shape ? UnpaddedBytes(*shape) : 0;
    const bool is_exact = *rounded < 1024 || ReportBytes(by_shape) == Trimmed(parsed->size_text);
    if (is_exact && *rounded >= 1024) allocation.size_bytes = by_shape;
    is_rounded_.push_back(!is_exact);
    program_.allocations.push_back(std::move(allocation));
    return true;
  }

  // "1.00MiB( 34%);   512.0KiB;      1572864;   2; f32[8,16,16,32], f32[8,32,32,16]": sum so far, size, offset, number
  // of values, their shapes.
  bool AddSlot(std::string_view line) {
    std::array<std::string_view, 5> parts;
    for (size_t i = 0; i < parts.size(); ++i) {
      const size_t end = i + 1 < parts.size() ? line.find(';') : line.size();
      if (end == std::string_view::npos) return false;
      parts[i] = Trimmed(line.substr(0, end));
      line.remove_prefix(std::min(line.size(), end + 1));
    }
    const std::optional<uint64_t> rounded = ParseReportBytes(parts[1]);
    const std::optional<uint64_t> offset = NumberAfter(parts[2], "");
    if (!rounded || !offset || *rounded > kLargestBytes || *offset > kLargestBytes || program_.allocations.empty())
      return false;
    ProgramBuffer buffer{.id = static_cast<int64_t>(program_.buffers.size()), .shape = strings_.Intern(parts[4])};
    const std::optional<uint64_t> by_shapes = LargestShapeBytes(parts[4]);
    const bool is_exact = *rounded < 1024 || (by_shapes && ReportBytes(*by_shapes) == parts[1]);
    buffer.size_bytes = is_exact && *rounded >= 1024 ? *by_shapes : *rounded;
    buffer.unpadded_bytes = by_shapes.value_or(kUnknownBytes);
    buffer.space = space_;
    if (!is_exact) ++counts_.rounded_sizes;
    ProgramAllocation& allocation = program_.allocations.back();
    allocation.assigned.push_back({static_cast<uint32_t>(program_.buffers.size()), *offset, buffer.size_bytes});
    program_.buffers.push_back(std::move(buffer));
    return true;
  }

  // Newer reports give no size of an allocation: it ends where its last slot does. In older ones the slots may tell the
  // exact size behind a rounded one.
  void SizeFromSlots(ProgramAllocation& allocation) {
    uint64_t end_bytes = 0;
    for (const ProgramAssignment& slot : allocation.assigned)
      end_bytes = std::max(end_bytes, slot.offset_bytes + slot.size_bytes);
    if (!program_.has_roles) {
      allocation.size_bytes = end_bytes;
      return;
    }
    const auto row = static_cast<size_t>(&allocation - program_.allocations.data());
    if (!is_rounded_[row] || ReportBytes(end_bytes) != ReportBytes(allocation.size_bytes)) return;
    allocation.size_bytes = end_bytes;
    is_rounded_[row] = false;
  }

  // Sizes that add up to the total of the report are exact, whatever each of them looks like.
  void CountRounded() {
    uint64_t sum_bytes = 0;
    for (const ProgramAllocation& allocation : program_.allocations) {
      if (allocation.space == 0) sum_bytes += allocation.size_bytes;
    }
    if (program_.has_roles) {
      counts_.rounded_sizes += static_cast<uint64_t>(std::count(is_rounded_.begin(), is_rounded_.end(), true));
    }
    program_.has_rounded_sizes = counts_.rounded_sizes > 0 || sum_bytes != program_.stated_total_bytes.value_or(0);
  }

  StringPool& strings_;
  TextCounts& counts_;
  Program program_;
  int64_t space_ = 0;
  std::vector<bool> is_rounded_;  // by allocation of an older report
};

}  // namespace

Program ReadMemoryReportText(std::string_view text, StringPool& strings, TextCounts& counts) {
  return ReportReader(strings, counts).Read(text);
}

}  // namespace memstrata::xla
