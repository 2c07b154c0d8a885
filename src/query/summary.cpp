#include "query/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "analysis/category/categorize.h"
#include "analysis/phases/timeline.h"
#include "base/duration.h"
#include "base/units.h"
#include "query/no_such_heap.h"

namespace memstrata {
namespace {

std::optional<int64_t> TimeAt(const Store& store, const Heap& heap, uint32_t seq) {
  const int64_t time_ns = seq == kNone ? kNoTime : store.EventTime(heap, seq);
  return time_ns == kNoTime ? std::nullopt : std::optional<int64_t>(time_ns);
}

CurvePoint PointAt(const Store& store, const Heap& heap, const Peak& peak) {
  CurvePoint point{peak.bytes, peak.moment, std::nullopt, std::nullopt};
  if (peak.moment.seq() != kNone) point.seq = peak.moment.seq();
  point.time_ns = TimeAt(store, heap, peak.moment.seq());
  return point;
}

void CountEvents(const Store& store, const Heap& heap, HeapSummary& summary) {
  summary.event_count = heap.events.size();
  for (uint32_t row = heap.events.begin; row < heap.events.end; ++row) {
    if (store.events.kind[row] == EventKind::kAlloc) {
      ++summary.allocation_count;
      summary.allocated_bytes_total += store.events.size_bytes[row];
    } else if (store.events.kind[row] == EventKind::kFreeCompleted) {
      ++summary.free_count;
      summary.freed_bytes_total += store.events.size_bytes[row];
    }
  }
  const AllocationTable& table = store.allocations;
  for (uint32_t row = heap.allocations.end; row > heap.allocations.begin && table.alloc_seq[row - 1] == kNone; --row) {
    ++summary.preexisting_block_count;
    summary.preexisting_bytes += table.size_bytes[row - 1];
  }
  for (uint32_t seq = 0; seq < heap.events.size() && !summary.first_time_ns; ++seq)
    summary.first_time_ns = TimeAt(store, heap, seq);
  for (uint32_t seq = heap.events.size(); seq > 0 && !summary.last_time_ns; --seq)
    summary.last_time_ns = TimeAt(store, heap, seq - 1);
}

std::string UnseenThreads(const Source& source) {
  for (const auto& [key, text] : source.metadata) {
    if (key == kUnseenThreadsKey) return text;
  }
  return "";
}

std::string ReasonOf(const Store& store, const Heap& heap, const HeapSummary& summary) {
  switch (heap.lower_bound) {
    case LowerBoundReason::kExact:
      return "";
    case LowerBoundReason::kNoEvents:
      return "The file holds the state at one moment without a history; memory may have been higher before.";
    case LowerBoundReason::kRingOverflow:
      return "The oldest events were overwritten in a full buffer; memory may have been higher before the first one "
             "that is left.";
    case LowerBoundReason::kTruncated:
      return "The file is cut off; memory may have been higher after the last event that could be read.";
    case LowerBoundReason::kUnseenThreads:
      return fmt::format(
          "Other threads of the program ran ({}); their tensors are not recorded, so memory may have "
          "been higher.",
          UnseenThreads(store.sources[heap.source]));
    case LowerBoundReason::kLateStart:
      break;
  }
  if (summary.preexisting_block_count == 0) {
    return fmt::format("Recording began when {} were reserved already; memory may have been higher before.",
                       FormatBytes(heap.reserved_begin_bytes));
  }
  return fmt::format("Recording began when {} ({}) {} live already; memory may have been higher before.",
                     FormatCount(summary.preexisting_block_count, "block"), FormatBytes(summary.preexisting_bytes),
                     summary.preexisting_block_count == 1 ? "was" : "were");
}

void FindOutOfMemory(const Store& store, const Heap& heap, const Curve& live, HeapSummary& summary) {
  for (uint32_t row = heap.events.begin; row < heap.events.end; ++row) {
    if (store.events.kind[row] != EventKind::kOutOfMemory) continue;
    const uint32_t seq = row - heap.events.begin;
    OutOfMemoryEvent event{seq, TimeAt(store, heap, seq), store.events.size_bytes[row], std::nullopt,
                           live.At(Moment::AfterEvent(seq))};
    if (store.events.addr[row] != kUnknownBytes) event.device_free_bytes = store.events.addr[row];
    summary.out_of_memory.push_back(event);
  }
}

// What of the live memory at the end is given back already and waits for another stream: by the events, or by the final
// state where the request is not among them.
uint64_t PendingAtEnd(const Store& store, const Heap& heap) {
  const AllocationTable& table = store.allocations;
  uint64_t pending_bytes = 0;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    if (IsPending(table, row, Moment::End(heap))) pending_bytes += table.size_bytes[row];
  }
  for (uint32_t row = heap.blocks.begin; row < heap.blocks.end; ++row) {
    const uint32_t allocation = store.blocks.allocation[row];
    if (store.blocks.state[row] != BlockState::kPendingFree || allocation == kNone) continue;
    if (table.free_requested_seq[allocation] == kNone) pending_bytes += table.size_bytes[allocation];
  }
  return pending_bytes;
}

void DescribeEnd(const Store& store, const Heap& heap, const Curve& live, HeapSummary& summary) {
  summary.end_live_bytes = live.At(Moment::End(heap));
  if (heap.capabilities.has_events || heap.capabilities.has_segments)
    summary.end_pending_bytes = PendingAtEnd(store, heap);
  summary.idle = FindIdle(store, heap);
  if (!summary.idle) return;
  summary.end_block_bytes = summary.idle->block_bytes;
  summary.end_reserved_bytes = summary.idle->reserved_bytes;
}

// An XPlane profile: its peak is where stack + heap is highest, and its breakdown has operations instead of stacks.
Status DescribeProfile(const Store& store, const Heap& heap, const Profile& xprof, const SummaryOptions& options,
                       HeapSummary& summary) {
  ProfileSummary profile = SummarizeProfile(store, static_cast<uint32_t>(&heap - store.heaps.data()), xprof);
  const Peak used_peak{profile.used_bytes, Moment::AfterEvent(profile.peak_seq)};
  MEMSTRATA_ASSIGN_OR_RETURN(summary.holders_at, ParseMoment(options.at, store, heap, used_peak));
  if (summary.holders_at.event_count == 0) summary.holders_at = Moment::AfterEvent(0);
  const uint32_t row = store.EventRow(heap, summary.holders_at.seq());
  summary.holders_bytes = store.xplane.events.stack_bytes[row] + store.xplane.events.heap_bytes[row];
  profile.holders = ProfileHolders(store, heap, summary.holders_at, options.top_count);
  if (profile.free_bytes) {
    const Curve reserved = BuildCurve(store, heap, Measure::kReserved);
    summary.reserved_peak = PointAt(store, heap, FindPeak(reserved));
    summary.end_reserved_bytes = reserved.At(Moment::End(heap));
  }
  summary.profile = std::move(profile);
  return {};
}

// Phases and categories of every allocation cost as much as reading the file does: a summary of a large capture answers
// from the call stacks, unless it is asked for categories.
CategoryBasis BasisFor(const Heap& heap, HolderKey key) {
  constexpr uint32_t kEventsWorthAnalysing = 1'000'000;
  return key == HolderKey::kCategory || key == HolderKey::kModule || heap.events.size() <= kEventsWorthAnalysing
             ? CategoryBasis::kAnalysis
             : CategoryBasis::kStack;
}

std::vector<Category> CategoriesByStackOf(const Store& store, const Heap& heap) {
  const std::vector<Category> by_stack = CategoriesByStack(store);
  std::vector<Category> categories;
  categories.reserve(heap.allocations.size());
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    categories.push_back(by_stack[store.allocations.stack[row].value]);
  }
  return categories;
}

void DescribeHolders(const Store& store, const Heap& heap, const SummaryOptions& options, const Timeline& timeline,
                     const std::vector<Category>& categories, HeapSummary& summary) {
  std::optional<ModulePaths> modules;
  if (options.by == HolderKey::kModule) modules = FindModulePaths(store, heap, timeline, categories);
  summary.holders = FindHolders(store, heap, categories, summary.holders_at, options.by, options.top_count,
                                modules ? &*modules : nullptr);
}

// Sets `holders`, `holders_at` being known. What nobody keeps is worked out as far as holders need it.
void FindHoldersOf(const Store& store, const Heap& heap, const SummaryOptions& options, KeptAnalyses* kept,
                   HeapSummary& summary) {
  summary.category_basis = BasisFor(heap, options.by);
  if (summary.category_basis == CategoryBasis::kStack)
    return DescribeHolders(store, heap, options, {}, CategoriesByStackOf(store, heap), summary);
  if (kept != nullptr) {
    const HeapAnalysis& analysis = kept->Of(heap);
    return DescribeHolders(store, heap, options, analysis.timeline, analysis.categories, summary);
  }
  const Timeline timeline = FindTimeline(store, heap);
  DescribeHolders(store, heap, options, timeline, Categorize(store, heap, timeline), summary);
}

Curve HeapAlone(const Store& store, const Heap& heap, Curve stack_and_heap) {
  for (uint32_t seq = 0; seq < stack_and_heap.after_bytes.size(); ++seq)
    stack_and_heap.after_bytes[seq] -= store.xplane.events.stack_bytes[store.EventRow(heap, seq)];
  return stack_and_heap;
}

Result<HeapSummary> SummarizeHeap(const Store& store, const Heap& heap, const SummaryOptions& options,
                                  KeptAnalyses* kept, const Profile* xprof) {
  HeapSummary summary;
  summary.heap = &heap;
  CountEvents(store, heap, summary);
  Curve live = BuildCurve(store, heap, Measure::kRequested);
  const Peak peak = FindPeak(live);
  if (xprof == nullptr) summary.live_peak = PointAt(store, heap, peak);
  summary.is_lower_bound = heap.lower_bound != LowerBoundReason::kExact;
  summary.lower_bound_reason = ReasonOf(store, heap, summary);
  if (options.curve_column_count > 0) summary.live_columns = Reduce(live, options.curve_column_count);
  if (xprof != nullptr) {
    // "live" is the heap alone there; the peak that counts is that of stack and heap (DescribeProfile).
    const Curve heap_alone = HeapAlone(store, heap, std::move(live));
    summary.live_peak = PointAt(store, heap, FindPeak(heap_alone));
    summary.end_live_bytes = heap_alone.At(Moment::End(heap));
    MEMSTRATA_TRY(DescribeProfile(store, heap, *xprof, options, summary));
    return summary;
  }
  MEMSTRATA_ASSIGN_OR_RETURN(summary.holders_at, ParseMoment(options.at, store, heap, peak));
  summary.holders_bytes = live.At(summary.holders_at);
  FindHoldersOf(store, heap, options, kept, summary);
  summary.outside = FindOutside(heap, summary.live_peak.time_ns);
  FindOutOfMemory(store, heap, live, summary);
  DescribeEnd(store, heap, live, summary);
  Curve scratch = std::move(live);
  if (heap.capabilities.has_block_bytes) {
    scratch = BuildCurve(store, heap, Measure::kBlock, std::move(scratch));
    summary.block_peak = PointAt(store, heap, FindPeak(scratch));
  }
  if (heap.capabilities.has_segments) {
    scratch = BuildCurve(store, heap, Measure::kReserved, std::move(scratch));
    summary.reserved_peak = PointAt(store, heap, FindPeak(scratch));
    if (options.curve_column_count > 0) summary.reserved_columns = Reduce(scratch, options.curve_column_count);
  }
  return summary;
}

Result<SummaryAnswer> SummarizeAll(const Store& store, const SummaryOptions& options, KeptAnalyses* kept) {
  SummaryAnswer answer{&store, options, {}};
  std::map<uint32_t, Profile> xprof_by_source;
  for (const Heap& heap : store.heaps) {
    if (!options.heap.empty() && heap.id != options.heap) continue;
    const Profile* xprof = nullptr;
    if (store.HasXPlaneDetails(heap)) {
      const auto [entry, is_new] = xprof_by_source.try_emplace(heap.source);
      if (is_new) entry->second = XProfProfile(store, heap.source);
      xprof = &entry->second;
    }
    MEMSTRATA_ASSIGN_OR_RETURN(HeapSummary summary, SummarizeHeap(store, heap, options, kept, xprof));
    answer.heaps.push_back(std::move(summary));
  }
  std::vector<HeapPeak> peaks;
  for (const HeapSummary& summary : answer.heaps) {
    if (summary.profile) peaks.push_back({summary.heap, summary.profile->used_bytes, summary.profile->utilization});
  }
  answer.hosts = SummarizeHosts(peaks);
  if (answer.heaps.empty() && !options.heap.empty()) return NoSuchHeap(store, options.heap);
  return answer;
}

}  // namespace

Result<Moment> ParseMoment(std::string_view text, const Store& store, const Heap& heap, const Peak& peak) {
  if (text == "peak") return peak.moment;
  if (text == "end") return Moment::End(heap);
  uint32_t seq = 0;
  const char* end = text.data() + text.size();
  if (const auto [at, problem] = std::from_chars(text.data(), end, seq); problem == std::errc{} && at == end) {
    if (seq < heap.events.size()) return Moment::AfterEvent(seq);
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("Heap {} has {} events; there is no event {}.", heap.id, heap.events.size(), seq));
  }
  const std::optional<double> duration_ns = ParseDuration(text);
  if (!duration_ns) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is no moment; give peak, end, the number of an event, "
                                                         "or a time after the first event such as 1.5s or 250ms.",
                                                         text));
  }
  if (!heap.capabilities.has_time)
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("Heap {} has no times; name the moment by the number of an event.", heap.id));
  uint32_t count = 0;
  int64_t first_ns = kNoTime;
  for (uint32_t at_seq = 0; at_seq < heap.events.size(); ++at_seq) {
    const int64_t time_ns = store.EventTime(heap, at_seq);
    if (time_ns == kNoTime) continue;
    if (first_ns == kNoTime) first_ns = time_ns;
    if (static_cast<double>(time_ns - first_ns) <= *duration_ns) count = at_seq + 1;
  }
  return Moment{count};
}

Result<SummaryAnswer> Summarize(const Store& store, const SummaryOptions& options) {
  return SummarizeAll(store, options, nullptr);
}

Result<SummaryAnswer> Summarize(KeptAnalyses& analyses, const SummaryOptions& options) {
  return SummarizeAll(analyses.store(), options, &analyses);
}

}  // namespace memstrata
