#pragma once
// Whole numbers as columns of single bytes: plane k of a column holds byte k of every value. Bytes that are alike lie
// beside each other, and a step that repeats lies within the window of the packer, so that a run of a million blocks
// packs into a few hundred kilobytes.

#include <span>
#include <vector>

#include "model/table/id.h"
#include "query/frame.h"

namespace memstrata {

/// Adds the columns NAME.0, NAME.1, … to the open table of `frame`: as many as the largest value needs, at least one.
void WritePlanes(FrameWriter& frame, std::string_view name, std::span<const uint64_t> values);

/// A row or an event as a count from 1; 0 is none.
inline uint64_t CountOrNone(uint32_t value) { return value == kNone ? 0 : uint64_t{value} + 1; }

/// Each value as its difference from the one before (the first: from 0), modulo 2^64, small negative ones as odd
/// numbers: 0, -1, 1, -2, … are 0, 1, 2, 3, …
std::vector<uint64_t> Differences(std::span<const uint64_t> values);

}  // namespace memstrata
