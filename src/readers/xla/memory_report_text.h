#pragma once
// Reads XLA's memory-usage reports (`*-memory-usage-report.txt` of --xla_dump_to). They say less than a buffer
// assignment: sizes are rounded for people, values have no names, and newer reports do not say what an allocation is
// for. Two forms, both in docs/formats/xla_buffers.md:
//  - newer: "Memory Space: …", exact totals, one table of slots an allocation;
//  - older: "Total bytes used: …", lines of allocations with their roles, and tables.

#include <string_view>

#include "readers/xla/buffer_assignment_text.h"

namespace memstrata::xla {

/// First words of the two forms.
inline constexpr std::string_view kMemoryReportHeads[] = {"Memory Space: ", "Total bytes used: "};

/// The program of a report; its name is the caller's to give. A size is exact where the shapes beside it, or the total
/// of the report, say so; else it is the rounded one, counted. Cost: O(bytes).
Program ReadMemoryReportText(std::string_view text, StringPool& strings, TextCounts& counts);

}  // namespace memstrata::xla
