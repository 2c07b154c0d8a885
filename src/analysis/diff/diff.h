#pragma once
// What recordings of one program hold at their peaks, block by block of the same origin: two of them, or a row of them
// as a trend.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/heap_analysis.h"

namespace memstrata {

/// Blocks of one origin: the same functions and files called one another, whatever their lines, for the same purpose.
struct DiffRow {
  Category category = Category::kUnknown;
  StackId stack{0};
  uint32_t recording = 0;       // whose stack it is: the last one that has such blocks
  std::vector<uint64_t> bytes;  // at the peak of each recording

  uint64_t BeforeBytes() const { return bytes.front(); }
  uint64_t AfterBytes() const { return bytes.back(); }
  int64_t DeltaBytes() const { return static_cast<int64_t>(AfterBytes()) - static_cast<int64_t>(BeforeBytes()); }
  /// From the least to the most that any recording holds: of two recordings, the size of the change.
  uint64_t SpreadBytes() const {
    const auto [least, most] = std::minmax_element(bytes.begin(), bytes.end());
    return *most - *least;
  }
};

struct HeapDiff {
  std::vector<uint64_t> peak_bytes;  // live, of each recording
  std::vector<DiffRow> rows;         // largest spread first; Σ DeltaBytes() = that of the peaks
  bool is_by_category = false;       // some recording has no stacks: rows are of a purpose alone

  int64_t DeltaBytes() const {
    return static_cast<int64_t>(peak_bytes.back()) - static_cast<int64_t>(peak_bytes.front());
  }
};

/// What is compared of one recording.
struct PeakHoldings {
  const Store* store = nullptr;
  const Heap* heap = nullptr;
  std::span<const Category> categories;  // of the heap's allocations
  Peak peak;
};

PeakHoldings HoldingsOf(const HeapAnalysis& analysis);
std::vector<PeakHoldings> HoldingsOf(std::span<const HeapAnalysis> analyses);

/// At least two recordings, in their order. Code that moved to another file is the same origin where its functions
/// leave no doubt, and so is code with other callers where it is missing in a recording. cost: O(allocations + stacks)
/// of all
HeapDiff DiffPeaks(std::span<const PeakHoldings> recordings);

}  // namespace memstrata
