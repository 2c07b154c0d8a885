#include "analysis/phases/period.h"

#include <algorithm>
#include <span>

namespace memstrata {
namespace {

// A sequence of few allocations has to come often before it is a step and not chance.
constexpr size_t kShort = 3;
constexpr size_t kFewestOfShort = 16;
constexpr size_t kFewest = 2;
// Allocations from the start of a step on that make other starts recognisable.
constexpr size_t kAnchorLength = 4;

struct Alloc {
  uint32_t seq = 0;
  uint64_t size_bytes = 0;
  uint32_t stack = 0;
  int64_t live_before_bytes = 0;

  bool IsSameAs(const Alloc& other) const { return size_bytes == other.size_bytes && stack == other.stack; }
};

std::vector<Alloc> CollectAllocs(const Store& store, const Heap& heap) {
  std::vector<Alloc> allocs;
  int64_t live_bytes = 0;  // relative to the first event
  for (uint32_t seq = 0; seq < heap.events.size(); ++seq) {
    const uint32_t row = heap.events.begin + seq;
    const auto size_bytes = static_cast<int64_t>(store.events.size_bytes[row]);
    if (store.events.kind[row] == EventKind::kFreeCompleted) live_bytes -= size_bytes;
    if (store.events.kind[row] != EventKind::kAlloc) continue;
    allocs.push_back({seq, store.events.size_bytes[row], store.events.stack[row].value, live_bytes});
    live_bytes += size_bytes;
  }
  return allocs;
}

/// The last `length` allocations repeat every `period`.
struct PeriodicEnd {
  size_t length = 0;
  size_t period = 0;
};

// The longest end of the sequence with a period, by the border of each prefix of the reversed sequence
// (Knuth, Morris and Pratt).
PeriodicEnd FindPeriodicEnd(const std::vector<Alloc>& allocs) {
  const size_t count = allocs.size();
  const auto reversed = [&](size_t i) -> const Alloc& { return allocs[count - 1 - i]; };
  std::vector<size_t> border(count, 0);
  PeriodicEnd longest;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) {
      size_t k = border[i - 1];
      while (k > 0 && !reversed(i).IsSameAs(reversed(k))) k = border[k - 1];
      border[i] = reversed(i).IsSameAs(reversed(k)) ? k + 1 : 0;
    }
    const size_t length = i + 1;
    const size_t period = length - border[i];
    const size_t fewest = period < kShort ? kFewestOfShort : kFewest;
    if (length >= period * fewest && length > period) longest = {length, period};
  }
  return longest;
}

// A loop gives back at least half of what it allocates.
bool GivesBack(const Store& store, const Heap& heap, uint32_t begin_seq) {
  uint64_t allocated_bytes = 0;
  uint64_t freed_bytes = 0;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    if (store.allocations.alloc_seq[row] == kNone || store.allocations.alloc_seq[row] < begin_seq) continue;
    allocated_bytes += store.allocations.size_bytes[row];
    if (store.allocations.free_requested_seq[row] != kNone) freed_bytes += store.allocations.size_bytes[row];
  }
  return freed_bytes * 2 >= allocated_bytes;
}

}  // namespace

std::vector<uint32_t> FindPeriodicSteps(const Store& store, const Heap& heap) {
  const std::vector<Alloc> allocs = CollectAllocs(store, heap);
  const PeriodicEnd end = FindPeriodicEnd(allocs);
  if (end.length == 0) return {};
  const size_t first = allocs.size() - end.length;
  if (!GivesBack(store, heap, allocs[first].seq)) return {};
  // A step begins where the least is live.
  const auto last_period = allocs.end() - static_cast<ptrdiff_t>(end.period);
  const auto lowest = std::min_element(last_period, allocs.end(), [](const Alloc& a, const Alloc& b) {
    return a.live_before_bytes < b.live_before_bytes;
  });
  const auto offset = static_cast<size_t>(lowest - last_period);
  const size_t anchor = allocs.size() - end.period + offset;
  const size_t anchor_length = std::min({kAnchorLength, end.period, allocs.size() - anchor});
  const std::span<const Alloc> pattern(&allocs[anchor], anchor_length);
  std::vector<uint32_t> begins;
  for (size_t i = 0; i + anchor_length <= allocs.size();) {
    const bool is_start = std::equal(pattern.begin(), pattern.end(), allocs.begin() + static_cast<ptrdiff_t>(i),
                                     [](const Alloc& a, const Alloc& b) { return a.IsSameAs(b); });
    if (is_start) begins.push_back(allocs[i].seq);
    // Within the part that repeats, only every period starts a step; an anchor may occur inside of one too.
    i += is_start && i >= first ? end.period : 1;
  }
  return begins;
}

}  // namespace memstrata
