#include "query/phase_confidence.h"

#include <algorithm>

#include "analysis/phases/annotations.h"
#include "base/flat_map.h"

namespace memstrata {
namespace {

// What only lies between others, or is alone, may as well be something else.
constexpr double kPositionOnly = 0.5;
// Nothing is ruled out.
constexpr double kLeast = 0.01;

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double AboveHalf(uint64_t part, uint64_t whole) { return kPositionOnly + (1 - kPositionOnly) * Share(part, whole); }

using SizeCounts = FlatMap<uint64_t, uint32_t>;

class ConfidenceFinder {
 public:
  explicit ConfidenceFinder(const HeapAnalysis& analysis)
      : analysis_(analysis),
        store_(*analysis.store),
        timeline_(analysis.timeline),
        named_(PhasesNamedByProgram(*analysis.store, *analysis.heap)) {}

  std::vector<double> Run() {
    if (timeline_.basis != PhaseBasis::kStack) {
      given_back_ = ShareGivenBack();
      CountAgain();
    }
    std::vector<double> confidences;
    for (size_t i = 0; i < timeline_.phases.size(); ++i) confidences.push_back(Of(i));
    return confidences;
  }

 private:
  bool IsAlloc(uint32_t seq) const {
    return store_.events.kind[analysis_.heap->events.begin + seq] == EventKind::kAlloc;
  }

  double Of(size_t index) const {
    const PhaseSpan& span = timeline_.phases[index];
    uint64_t alloc_count = 0;
    uint64_t shown_count = 0;  // their own stack, or the program, names the phase
    for (uint32_t seq = span.begin_seq; seq < span.end_seq; ++seq) {
      if (!IsAlloc(seq)) continue;
      ++alloc_count;
      const bool is_named = named_[seq] == span.phase;
      shown_count += is_named || (timeline_.basis == PhaseBasis::kStack && !timeline_.is_plain[seq]) ? 1 : 0;
    }
    if (timeline_.basis == PhaseBasis::kStack)
      return alloc_count > 0 ? AboveHalf(shown_count, alloc_count) : ShownOfFrees(span);
    const double by_order = given_back_ * (kPositionOnly + (1 - kPositionOnly) * share_again_[index]);
    const double named_share = Share(shown_count, alloc_count);
    return std::max(kLeast, named_share + (1 - named_share) * by_order);
  }

  double ShownOfFrees(const PhaseSpan& span) const {
    uint64_t shown_count = 0;
    for (uint32_t seq = span.begin_seq; seq < span.end_seq; ++seq) shown_count += timeline_.is_plain[seq] ? 0 : 1;
    return AboveHalf(shown_count, span.end_seq - span.begin_seq);
  }

  // Sizes that the phase allocates, and, apart, that it gives back.
  SizeCounts SizesOf(const PhaseSpan& span) const {
    SizeCounts sizes;
    for (uint32_t seq = span.begin_seq; seq < span.end_seq; ++seq) {
      const uint32_t row = analysis_.heap->events.begin + seq;
      const EventKind kind = store_.events.kind[row];
      if (kind == EventKind::kAlloc || kind == EventKind::kFreeRequested)
        ++sizes[store_.events.size_bytes[row] << 1 | (kind == EventKind::kAlloc ? 1 : 0)];
    }
    return sizes;
  }

  // Of each span, what share of its requests and frees came in the same phase one time before or after, too; the more
  // of both.
  void CountAgain() {
    struct Last {
      size_t index = 0;
      uint64_t count = 0;
      SizeCounts sizes;
    };
    FlatMap<uint32_t, Last> last_of_phase;
    share_again_.assign(timeline_.phases.size(), 0);
    for (size_t i = 0; i < timeline_.phases.size(); ++i) {
      SizeCounts sizes = SizesOf(timeline_.phases[i]);
      const auto [found, is_first] = last_of_phase.try_emplace(static_cast<uint32_t>(timeline_.phases[i].phase));
      Last& last = found->second;
      uint64_t again = 0;
      uint64_t count_in_all = 0;
      for (const auto& [size, count] : sizes) {
        count_in_all += count;
        const auto before = last.sizes.find(size);
        if (before != last.sizes.end()) again += std::min(count, before->second);
      }
      share_again_[i] = Share(again, count_in_all);
      if (!is_first) share_again_[last.index] = std::max(share_again_[last.index], Share(again, last.count));
      last = {i, count_in_all, std::move(sizes)};
    }
  }

  // The share of what forwards leave behind that backwards give back: a backward that is none gives back little.
  double ShareGivenBack() const {
    const AllocationTable& table = store_.allocations;
    uint64_t left_bytes = 0;
    uint64_t given_bytes = 0;
    for (uint32_t row = analysis_.heap->allocations.begin; row < analysis_.heap->allocations.end; ++row) {
      const uint32_t begin = table.alloc_seq[row];
      const uint32_t end = table.free_requested_seq[row];
      if (begin == kNone || end == kNone || !IsForward(timeline_.phase_of_event[begin])) continue;
      if (IsForward(timeline_.phase_of_event[end])) continue;  // a temporary of the forward
      left_bytes += table.size_bytes[row];
      if (IsBackward(timeline_.phase_of_event[end])) given_bytes += table.size_bytes[row];
    }
    return left_bytes == 0 ? 1 : static_cast<double>(given_bytes) / static_cast<double>(left_bytes);
  }

  const HeapAnalysis& analysis_;
  const Store& store_;
  const Timeline& timeline_;
  const std::vector<std::optional<Phase>> named_;
  double given_back_ = 1;
  std::vector<double> share_again_;  // by span
};

}  // namespace

std::vector<double> FindPhaseConfidences(const HeapAnalysis& analysis) { return ConfidenceFinder(analysis).Run(); }

}  // namespace memstrata
