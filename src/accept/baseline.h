#pragma once
// The file that `memstrata gate` compares with (memstrata.baseline/1, docs/reference/json/baseline.schema.json). It is
// kept in a repository, so it holds no folders, no line numbers and no times: the same runs give the same bytes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accept/tolerance.h"
#include "base/result.h"

namespace memstrata::accept {

struct BaselineFrame {
  std::string function;
  std::string file;
  auto operator<=>(const BaselineFrame&) const = default;
};

/// Blocks of one origin at the live peak.
struct BaselineHolder {
  uint64_t bytes = 0;
  std::string category;
  std::vector<BaselineFrame> stack;  // innermost first; empty for blocks without a stack and for the rest
};

struct BaselineFigure {
  std::string name;                    // "peak_live"
  std::vector<uint64_t> values_bytes;  // one per repeat, ascending
};

struct BaselineHeap {
  std::string id;
  std::vector<BaselineFigure> figures;
  std::vector<BaselineHolder> holders;  // Σ bytes = live peak of the repeat with the highest one
};

struct Baseline {
  uint64_t run_count = 0;
  std::string tolerance;  // as the user gave it; empty = learned
  std::vector<BaselineHeap> heaps;
};

/// At most this many holders of a heap are kept; the rest is one row without a stack.
inline constexpr size_t kMostHolders = 200;

/// errors: kCorruptInput (not such a file, with what is wrong in it), kLimitExceeded (more than 64 MiB)
Result<Baseline> ParseBaseline(std::string_view text);
std::string BaselineJson(const Baseline& baseline);

}  // namespace memstrata::accept
