#pragma once
// The answer of `memstrata gate`: does memory stay where the baseline says it was, and if not, who took it. The fields
// are those of docs/reference/json/gate.schema.json; writers only format them.

#include <string>
#include <vector>

#include "accept/gate_figures.h"
#include "accept/verdict.h"
#include "analysis/diff/regressions.h"

namespace memstrata::accept {

/// One figure of one heap: the mean of the runs against the mean of the baseline's repeats.
struct FigureCheck {
  std::string heap;
  std::string figure;
  Tolerance tolerance;
  uint64_t baseline_bytes = 0;  // mean of the repeats
  uint64_t limit_bytes = 0;     // baseline + what is allowed above it
  std::vector<uint64_t> values_bytes;
  uint64_t mean_bytes = 0;  // of the runs
  Verdict verdict = Verdict::kUndecided;
  std::string text;

  int64_t DeltaBytes() const { return static_cast<int64_t>(mean_bytes) - static_cast<int64_t>(baseline_bytes); }
};

struct BlamedFrame {
  std::string function;
  std::string file;  // as recorded, with its folder
  uint32_t line = 0;
};

/// An origin that holds more at the peak than it did.
struct BlamedRow {
  std::string category;
  uint64_t before_bytes = 0;
  uint64_t after_bytes = 0;
  std::vector<BlamedFrame> stack;  // innermost first; empty for blocks without a stack
  size_t useful_index = 0;         // the frame to name it by; meaningless for an empty stack

  int64_t DeltaBytes() const { return static_cast<int64_t>(after_bytes) - static_cast<int64_t>(before_bytes); }
};

/// Of a heap that fails: what its live peak holds that the baseline's does not.
struct HeapBlame {
  std::string heap;
  std::vector<std::string> sentences;
  std::vector<BlamedRow> rows;  // those that grew, largest growth first, at most kMostBlamedRows
};
inline constexpr size_t kMostBlamedRows = 10;

struct GateAnswer {
  Verdict verdict = Verdict::kPass;
  std::string baseline_file;
  uint64_t baseline_run_count = 0;
  std::vector<std::string> runs;
  std::vector<FigureCheck> checks;
  std::vector<HeapBlame> blames;
  std::vector<std::string> notes;  // what the user should know besides: heaps that one side lacks, a wide tolerance
};

/// `given` outweighs the baseline's own tolerance. errors: kInternal
/// cost: O(allocations + stacks) of the highest run for each heap that fails
Result<GateAnswer> Gate(const Baseline& baseline, const GateRuns& runs, std::optional<GivenTolerance> given);

}  // namespace memstrata::accept
