#include "analysis/category/growing_cache.h"

#include <algorithm>
#include <array>

#include "base/flat_map.h"

namespace memstrata {
namespace {

// One token of a cache of few heads has this many bytes; the ids of the tokens themselves grow by less.
constexpr uint64_t kSmallestPartBytes = 512;
constexpr uint32_t kFewestLinks = 4;
// Between the new block and the free of the old one, other blocks of the same operator may come.
constexpr size_t kMostBetween = 8;

bool IsOfTraining(Phase phase) { return IsForward(phase) || IsBackward(phase) || IsUpdate(phase); }

/// The block that a block replaced, and by how much each block of the chain is larger than the one before.
struct Link {
  uint32_t previous = kNone;
  uint64_t part_bytes = 0;
  uint32_t length = 0;  // links up to here
};

class ChainFinder {
 public:
  ChainFinder(const Store& store, const Heap& heap, const Timeline& timeline)
      : store_(store), heap_(heap), timeline_(timeline) {}

  void Run() {
    for (uint32_t seq = 0; seq < heap_.events.size(); ++seq) {
      const uint32_t event = heap_.events.begin + seq;
      const uint32_t row = store_.events.allocation[event];
      if (row == kNone || IsOfTraining(timeline_.phase_of_event[seq])) continue;
      if (store_.events.kind[event] == EventKind::kAlloc) {
        recent_[next_++ % recent_.size()] = row;
      } else if (store_.events.kind[event] == EventKind::kFreeRequested) {
        FindSuccessor(row, seq);
      }
    }
  }

  void Mark(std::vector<Category>& categories) const {
    for (const auto& [row, link] : links_) {
      if (link.length < kFewestLinks) continue;
      for (uint32_t member = row; member != kNone;) {
        categories[member - heap_.allocations.begin] = Category::kKvCache;
        const auto found = links_.find(member);
        member = found == links_.end() || found->second.part_bytes != link.part_bytes ? kNone : found->second.previous;
        if (member != kNone && categories[member - heap_.allocations.begin] == Category::kKvCache) break;
      }
    }
  }

 private:
  // The youngest of the latest blocks that is larger than `row` as a cache with one part more would be.
  void FindSuccessor(uint32_t row, uint32_t free_seq) {
    const AllocationTable& table = store_.allocations;
    const uint64_t old_bytes = table.size_bytes[row];
    if (old_bytes < kSmallestPartBytes) return;
    for (size_t back = 1; back <= std::min(next_, recent_.size()); ++back) {
      const uint32_t candidate = recent_[(next_ - back) % recent_.size()];
      const uint64_t bytes = table.size_bytes[candidate];
      const bool is_later = candidate > row && table.free_requested_seq[candidate] > free_seq;
      if (!is_later || bytes < old_bytes + kSmallestPartBytes || bytes > 2 * old_bytes || links_.contains(candidate))
        continue;
      const auto before = links_.find(row);
      const bool goes_on = before != links_.end() && before->second.part_bytes == bytes - old_bytes;
      links_[candidate] = {row, bytes - old_bytes, goes_on ? before->second.length + 1 : 1};
      return;
    }
  }

  const Store& store_;
  const Heap& heap_;
  const Timeline& timeline_;
  std::array<uint32_t, kMostBetween> recent_{};
  size_t next_ = 0;
  FlatMap<uint32_t, Link> links_;  // by the younger block
};

}  // namespace

void MarkGrowingCaches(const Store& store, const Heap& heap, const Timeline& timeline,
                       std::vector<Category>& categories) {
  const bool infers = std::any_of(timeline.phases.begin(), timeline.phases.end(),
                                  [](const PhaseSpan& span) { return IsInference(span.phase); });
  if (!infers) return;
  ChainFinder finder(store, heap, timeline);
  finder.Run();
  finder.Mark(categories);
}

}  // namespace memstrata
