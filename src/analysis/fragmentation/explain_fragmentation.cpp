#include "analysis/fragmentation/explain_fragmentation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "sim/recorded_state.h"

namespace memstrata {
namespace {

constexpr double kMuchIdle = 0.2;  // of the reserved bytes
constexpr double kWorthIt = 0.25;  // a remedy that saves less of the reserved peak is not worth a finding

// The first allocation at or behind a position: the request that a new segment was for.
uint64_t RequestBehind(const Store& store, const Heap& heap, uint32_t seq) {
  for (; seq < heap.events.size(); ++seq) {
    const uint32_t row = store.EventRow(heap, seq);
    if (store.events.kind[row] == EventKind::kAlloc || store.events.kind[row] == EventKind::kOutOfMemory)
      return store.events.size_bytes[row];
  }
  return 0;
}

bool IsMuch(const Fragmentation& fragmentation) {
  return fragmentation.idle_bytes >= fragmentation.needed_bytes &&
         static_cast<double>(fragmentation.idle_bytes) >= kMuchIdle * static_cast<double>(fragmentation.reserved_bytes);
}

// Idle bytes on streams whose last request lies before `at`.
void FindLeftStreams(const Store& store, const Heap& heap, Moment at, FragmentationAnswer& answer) {
  std::vector<bool> is_used(store.streams.size(), false);
  for (uint32_t row = heap.events.begin + at.event_count; row < heap.events.end; ++row) {
    if (store.events.kind[row] == EventKind::kAlloc) is_used[store.events.stream[row]] = true;
  }
  std::vector<uint64_t> idle(store.streams.size(), 0);
  const HeapState state = StateAt(store, heap, at);
  for (const StateHole& hole : state.holes) {
    const StateSegment& segment = state.segments[hole.segment];
    if (!is_used[segment.stream] && hole.kind != HoleKind::kPrivatePool) idle[segment.stream] += hole.size_bytes;
  }
  const auto most = std::max_element(idle.begin(), idle.end());
  if (most == idle.end()) return;
  answer.left_stream_idle_bytes = *most;
  answer.left_stream = store.streams[static_cast<size_t>(most - idle.begin())];
}

Finding LeftStreamFinding(const FragmentationAnswer& answer) {
  Finding finding;
  finding.id = "idle_stream";
  finding.severity = FindingSeverity::kWarning;
  finding.text = fmt::format(
      "Of {} reserved, {} lies idle on stream {:#x}, which makes no request any more: no other stream can use it.",
      FormatBytes(answer.peak_reserved_bytes), FormatBytes(answer.left_stream_idle_bytes), answer.left_stream);
  finding.bytes = answer.left_stream_idle_bytes;
  finding.remedy =
      "A flush (torch.cuda.empty_cache()) after the last work on that stream gives its whole segments back.";
  finding.evidence.begin_seq = answer.at_peak.at.event_count;
  finding.evidence.end_seq = answer.at_peak.at.event_count + 1;
  return finding;
}

std::string WhereIdle(const Fragmentation& found) {
  if (found.pinned_bytes == 0) return "all of it in whole segments, which a flush gives back";
  return fmt::format("{} of live blocks pin {} of segments", FormatBytes(found.pinning_bytes),
                     FormatBytes(found.pinned_bytes));
}

const ReplayedRemedy* BestOf(const ReplayedRemedies& replayed) {
  const ReplayedRemedy* best = nullptr;
  for (const ReplayedRemedy& remedy : replayed.remedies) {
    if (best == nullptr || remedy.outcome.peak_reserved_bytes < best->outcome.peak_reserved_bytes) best = &remedy;
  }
  return best;
}

}  // namespace

std::optional<FragmentationAnswer> ExplainFragmentation(const HeapAnalysis& analysis) {
  const Store& store = *analysis.store;
  const Heap& heap = *analysis.heap;
  if (!sim::CanReplay(heap) || !heap.capabilities.has_segments) return std::nullopt;
  const Peak peak = FindPeak(BuildCurve(store, heap, Measure::kReserved));
  if (peak.moment.seq() == kNone) return std::nullopt;  // nothing was reserved while it recorded
  FragmentationAnswer answer;
  answer.peak_reserved_bytes = peak.bytes;
  answer.at_peak =
      FindFragmentation(store, heap, Moment{peak.moment.seq()}, RequestBehind(store, heap, peak.moment.seq()));
  FindLeftStreams(store, heap, answer.at_peak.at, answer);
  const auto least_bytes = static_cast<uint64_t>(kWorthIt * static_cast<double>(peak.bytes));
  if (IsMuch(answer.at_peak))
    answer.replayed =
        ReplayRemedies(store, heap, std::nullopt, {.least_saving_bytes = std::max<uint64_t>(least_bytes, 1)});
  return answer;
}

std::vector<Finding> FragmentationFindings(const FragmentationAnswer& answer) {
  std::vector<Finding> findings;
  const auto worth_bytes = static_cast<uint64_t>(kWorthIt * static_cast<double>(answer.peak_reserved_bytes));
  if (answer.left_stream_idle_bytes > worth_bytes) findings.push_back(LeftStreamFinding(answer));
  if (!answer.replayed) return findings;
  const ReplayedRemedy* best = BestOf(*answer.replayed);
  if (best == nullptr || best->outcome.peak_reserved_bytes + worth_bytes > answer.peak_reserved_bytes) return findings;
  const uint64_t saved_bytes = answer.peak_reserved_bytes - best->outcome.peak_reserved_bytes;
  const Fragmentation& found = answer.at_peak;
  Finding finding;
  finding.id = "fragmentation";
  finding.severity = FindingSeverity::kWarning;
  finding.text = fmt::format("Reserved memory reaches {} although {} of it is idle then, in {}: {}.",
                             FormatBytes(answer.peak_reserved_bytes), FormatBytes(found.idle_bytes),
                             FormatCount(found.hole_count, "hole"), WhereIdle(found));
  finding.bytes = saved_bytes;
  finding.confidence = answer.replayed->is_faithful ? Confidence::kComputed : Confidence::kAssumed;
  finding.remedy = fmt::format("{}: {} reserved at the peak instead of {}, by replay of this recording.", best->setting,
                               FormatBytes(best->outcome.peak_reserved_bytes), FormatBytes(answer.peak_reserved_bytes));
  finding.evidence.begin_seq = found.at.event_count;
  finding.evidence.end_seq = found.at.event_count + 1;
  findings.push_back(std::move(finding));
  return findings;
}

}  // namespace memstrata
