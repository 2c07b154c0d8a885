#include "analysis/growth/step_levels.h"

#include <algorithm>
#include <limits>

#include "analysis/heap_analysis.h"
#include "base/flat_map.h"
#include "index/heap_state.h"

namespace memstrata {
namespace {

/// How long the blocks of one line live, in starts of steps that they live across.
struct Lives {
  uint32_t shortest = std::numeric_limits<uint32_t>::max();  // of those given back
  uint32_t longest = 0;
  uint32_t longest_kept = 0;  // so far, of those that stay until the last step, which may hold the end of the program

  bool HandsOn() const {
    if (longest == 0) return longest_kept <= 1;
    return longest - shortest <= 1 && longest_kept <= longest;
  }
};

class LevelFinder {
 public:
  explicit LevelFinder(const HeapAnalysis& analysis)
      : analysis_(analysis), table_(analysis.store->allocations), steps_(analysis.timeline.steps) {}

  StepLevels Run() {
    FindLives();
    std::vector<int64_t> live(steps_.size() + 1, 0);
    std::vector<int64_t> kept(steps_.size() + 1, 0);
    for (uint32_t row = analysis_.heap->allocations.begin; row < analysis_.heap->allocations.end; ++row) {
      AddLife(row, live);
      if (!IsMadeInStep(row) || (!IsWorkspace(row) && !lives_[LineOf(row)].HandsOn())) AddLife(row, kept);
    }
    return {Sums(live), Sums(kept)};
  }

 private:
  // The first start of a step after `seq`, or the end of the last step: each step lasts until the next one begins.
  size_t BorderAfter(uint32_t seq) const {
    const uint32_t step = analysis_.timeline.step_of_event[seq];
    return step == kNone ? 0 : size_t{step} + 1;
  }

  bool IsMadeInStep(uint32_t row) const {
    const uint32_t seq = table_.alloc_seq[row];
    return seq != kNone && seq >= steps_.front().begin_seq;
  }

  // A library takes it once, with its first call, and keeps it.
  bool IsWorkspace(uint32_t row) const { return analysis_.CategoryOf(row) == Category::kWorkspace; }

  // The line that made a block; where stacks do not tell, its size stands for it.
  uint64_t LineOf(uint32_t row) const {
    constexpr uint64_t kIsStack = uint64_t{1} << 63;
    return table_.stack[row].value != 0 ? kIsStack | table_.stack[row].value : table_.size_bytes[row];
  }

  void FindLives() {
    for (uint32_t row = analysis_.heap->allocations.begin; row < analysis_.heap->allocations.end; ++row) {
      if (!IsMadeInStep(row)) continue;
      const size_t made = BorderAfter(table_.alloc_seq[row]);
      const uint32_t end_seq = table_.free_requested_seq[row];
      Lives& lives = lives_[LineOf(row)];
      const size_t end = end_seq == kNone ? steps_.size() : BorderAfter(end_seq);
      const auto life = static_cast<uint32_t>(end - made);
      if (life == 0) continue;  // within its step
      if (end >= steps_.size()) {
        lives.longest_kept = std::max(lives.longest_kept, life);
        continue;
      }
      lives.longest = std::max(lives.longest, life);
      lives.shortest = std::min(lives.shortest, life);
    }
  }

  void AddLife(uint32_t row, std::vector<int64_t>& changes) const {
    const auto bytes = static_cast<int64_t>(BlockBytesOrRequested(table_, row));
    const size_t made = table_.alloc_seq[row] == kNone ? 0 : BorderAfter(table_.alloc_seq[row]);
    changes[made] += bytes;
    if (table_.free_requested_seq[row] != kNone) changes[BorderAfter(table_.free_requested_seq[row])] -= bytes;
  }

  static std::vector<uint64_t> Sums(const std::vector<int64_t>& changes) {
    std::vector<uint64_t> levels;
    int64_t level = 0;
    for (const int64_t change : changes) {
      level += change;
      levels.push_back(static_cast<uint64_t>(std::max<int64_t>(level, 0)));
    }
    return levels;
  }

  const HeapAnalysis& analysis_;
  const AllocationTable& table_;
  const std::vector<StepSpan>& steps_;
  FlatMap<uint64_t, Lives> lives_;  // by line
};

}  // namespace

StepLevels FindStepLevels(const HeapAnalysis& analysis) {
  if (analysis.timeline.steps.empty()) return {};
  return LevelFinder(analysis).Run();
}

std::vector<uint64_t> FindForwardBytes(const HeapAnalysis& analysis) {
  const AllocationTable& table = analysis.store->allocations;
  const Timeline& timeline = analysis.timeline;
  const bool is_inference = !timeline.Has(Phase::kBackward);
  std::vector<uint64_t> bytes(timeline.steps.size(), 0);
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    const uint32_t made = table.alloc_seq[row];
    const uint32_t freed = table.free_requested_seq[row];
    if (made == kNone || freed == kNone) continue;
    const Phase phase = timeline.phase_of_event[made];
    if (!IsForward(phase) && !(is_inference && IsInference(phase))) continue;
    const uint32_t step = timeline.step_of_event[made];
    if (step != kNone && step == timeline.step_of_event[freed]) bytes[step] += table.size_bytes[row];
  }
  return bytes;
}

}  // namespace memstrata
