#pragma once
// The answer to "what is in this file, how high did memory go, when, and who holds it": the data of `memstrata
// summary`. The fields are those of docs/reference/json/summary.schema.json; writers only format them.

#include <optional>
#include <string>
#include <vector>

#include "analysis/holders/holders.h"
#include "analysis/idle/idle.h"
#include "analysis/kept_analyses.h"
#include "base/result.h"
#include "index/curve.h"
#include "index/outside.h"
#include "query/host_summary.h"
#include "query/profile_summary.h"

namespace memstrata {

struct SummaryOptions {
  std::string heap;         // id; empty = all
  std::string at = "peak";  // "peak", "end", an event number, or a time ("1.5s" after the first event)
  HolderKey by = HolderKey::kStack;
  size_t top_count = 10;
  uint32_t curve_column_count = 0;  // > 0: also reduced curves for drawing
};

/// One point of a curve; `seq` and `time_ns` are unknown before the first event.
struct CurvePoint {
  uint64_t bytes = 0;
  Moment moment;
  std::optional<uint32_t> seq;
  std::optional<int64_t> time_ns;
};

struct OutOfMemoryEvent {
  uint32_t seq = 0;
  std::optional<int64_t> time_ns;
  uint64_t requested_bytes = 0;
  std::optional<uint64_t> device_free_bytes;
  uint64_t live_bytes = 0;  // when it happened
};

/// What the categories of holders follow from.
enum class CategoryBasis : uint8_t {
  kAnalysis,  // stacks, phases, lifetimes and sizes, as `explain` has them
  kStack,     // the call stack alone: large captures, unless categories are asked for
};
inline constexpr std::string_view kCategoryBasisNames[] = {"analysis", "stack"};

struct HeapSummary {
  const Heap* heap = nullptr;
  uint64_t event_count = 0;
  uint64_t allocation_count = 0;
  uint64_t free_count = 0;
  uint64_t allocated_bytes_total = 0;
  uint64_t freed_bytes_total = 0;
  uint64_t preexisting_block_count = 0;
  uint64_t preexisting_bytes = 0;
  std::optional<int64_t> first_time_ns;
  std::optional<int64_t> last_time_ns;
  CurvePoint live_peak;
  std::optional<CurvePoint> block_peak;  // derived from rounding rules: approximate
  std::optional<CurvePoint> reserved_peak;
  bool is_lower_bound = false;
  std::string lower_bound_reason;
  uint64_t end_live_bytes = 0;
  std::optional<uint64_t> end_block_bytes;
  std::optional<uint64_t> end_pending_bytes;
  std::optional<uint64_t> end_reserved_bytes;
  std::optional<IdleBytes> idle;
  std::optional<OutsideMemory> outside;
  Moment holders_at;           // the peak unless asked otherwise
  uint64_t holders_bytes = 0;  // live at that moment = Σ holders
  CategoryBasis category_basis = CategoryBasis::kAnalysis;
  std::vector<Holder> holders;
  std::vector<OutOfMemoryEvent> out_of_memory;
  std::optional<ProfileSummary> profile;  // of a heap of an XPlane profile; its holders replace `holders`
  std::vector<CurveColumn> live_columns;
  std::vector<CurveColumn> reserved_columns;

  /// Part of what is live at that moment, 0 to 1.
  /// Negative for what is missing from the recording.
  double ShareOf(int64_t bytes) const {
    return holders_bytes == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(holders_bytes);
  }
};

struct SummaryAnswer {
  const Store* store = nullptr;
  SummaryOptions options;
  std::vector<HeapSummary> heaps;
  std::vector<HostSummary> hosts;  // when the heaps are of several hosts, the worst first
};

/// errors: kInvalidArgument (no such heap, and the message lists them; unreadable `at`)
/// cost: O(events + allocations) per heap
Result<SummaryAnswer> Summarize(const Store& store, const SummaryOptions& options);
/// With phases and categories from analyses that other answers use too.
Result<SummaryAnswer> Summarize(KeptAnalyses& analyses, const SummaryOptions& options);

/// "peak", "end", a number of an event, or a time after the first event with a unit (ns, us, ms, s).
Result<Moment> ParseMoment(std::string_view text, const Store& store, const Heap& heap, const Peak& peak);

}  // namespace memstrata
