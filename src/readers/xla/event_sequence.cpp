#include "readers/xla/event_sequence.h"

#include <algorithm>
#include <vector>

#include "base/flat_map.h"
#include "base/sort_rows.h"
#include "readers/xla/event_order.h"
#include "readers/xla/sizeless_order.h"

namespace memstrata::xla {
namespace {

// So many beginnings are tried for the first events of a heap.
constexpr size_t kMostStarts = 16;

class Sequence {
 public:
  Sequence(std::span<uint32_t> rows, DecodedEvents& events) : rows_(rows), events_(events) {
    needs_sizes_ = std::any_of(rows.begin(), rows.end(), [&](uint32_t row) { return LacksSize(row); });
  }

  HeapFigures Run() {
    const Column<int64_t>& time_ps = events_.details.time_ps;
    SortRows(rows_, [&](uint32_t row) { return time_ps[row]; });
    for (size_t i = 0; i < rows_.size();) {
      size_t end = i + 1;
      while (end < rows_.size() && time_ps[rows_[end]] == time_ps[rows_[i]]) ++end;
      if (end - i > 1) OrderEqualTimes(rows_.subspan(i, end - i));
      for (; i < end; ++i) Visit(rows_[i]);
    }
    return figures_;
  }

 private:
  bool IsAllocation(uint32_t row) const { return events_.is_allocation[row] != 0; }
  bool LacksSize(uint32_t row) const { return !IsAllocation(row) && events_.size_bytes[row] == 0; }

  static uint64_t BlockSize(const FlatMap<uint64_t, uint64_t>& sizes, uint64_t addr) {
    const auto found = sizes.find(addr);
    return found == sizes.end() ? 0 : found->second;
  }

  void OrderEqualTimes(std::span<uint32_t> group) {
    std::vector<uint32_t> order;
    if (needs_sizes_) order = OrderBySearch(group);
    if (order.empty()) order = OrderByPath(group);
    const std::vector<uint32_t> recorded(group.begin(), group.end());
    for (size_t i = 0; i < group.size(); ++i) group[i] = recorded[order[i]];
  }

  std::vector<uint32_t> OrderBySearch(std::span<const uint32_t> group) const {
    std::vector<TiedEvent> tied;
    tied.reserve(group.size());
    for (const uint32_t row : group) {
      tied.push_back({IsAllocation(row), events_.addr[row], events_.size_bytes[row], events_.details.heap_bytes[row]});
    }
    const auto live_size = [&](uint64_t addr) { return BlockSize(live_sizes_, addr); };
    if (seen_any_) return OrderWithoutSizes(tied, heap_bytes_, live_size);
    // The first events of all: one of the allocations says where the heap began.
    std::vector<uint32_t> order;
    for (size_t i = 0; order.empty() && i < tied.size() && i < kMostStarts; ++i) {
      if (tied[i].is_allocation) order = OrderWithoutSizes(tied, tied[i].after_bytes - tied[i].size_bytes, live_size);
    }
    return order;
  }

  std::vector<uint32_t> OrderByPath(std::span<const uint32_t> group) const {
    FlatMap<uint64_t, uint64_t> sizes_in_group;  // a block may be allocated and freed at the same time
    for (const uint32_t row : group) {
      if (needs_sizes_ && IsAllocation(row)) sizes_in_group[events_.addr[row]] = events_.size_bytes[row];
    }
    std::vector<HeapChange> changes;
    changes.reserve(group.size());
    for (const uint32_t row : group) {
      const uint64_t after = events_.details.heap_bytes[row];
      uint64_t size = events_.size_bytes[row];
      if (LacksSize(row)) {
        size = BlockSize(live_sizes_, events_.addr[row]);
        if (size == 0) size = BlockSize(sizes_in_group, events_.addr[row]);
      }
      changes.push_back({IsAllocation(row) ? after - size : after + size, after});
    }
    return OrderOfEqualTimes(changes, seen_any_, heap_bytes_);
  }

  void Visit(uint32_t row) {
    const uint64_t heap = events_.details.heap_bytes[row];
    if (needs_sizes_) TrackSize(row, heap);
    const uint64_t size = events_.size_bytes[row];
    const uint64_t before = IsAllocation(row) ? heap - size : heap + size;
    if (!seen_any_) {
      figures_.preexisting_bytes = IsAllocation(row) && size > heap ? 0 : before;
    } else if (before != heap_bytes_) {
      ++figures_.jump_count;
    }
    NoteHeights(row, heap);
    heap_bytes_ = heap;
    seen_any_ = true;
  }

  // A free without a size and without a known block takes what the heap fell by.
  void TrackSize(uint32_t row, uint64_t heap) {
    uint64_t& size = events_.size_bytes[row];
    if (IsAllocation(row)) {
      live_sizes_[events_.addr[row]] = size;
      return;
    }
    if (size == 0) {
      size = BlockSize(live_sizes_, events_.addr[row]);
      if (size == 0 && seen_any_ && heap_bytes_ > heap) size = heap_bytes_ - heap;
      events_.details.blind[row] |= kBlindSize;
    }
    live_sizes_.erase(events_.addr[row]);
  }

  void NoteHeights(uint32_t row, uint64_t heap) {
    const XPlaneEventTable& details = events_.details;
    const uint64_t used = details.stack_bytes[row] + heap;
    if (!seen_any_ || used > highest_used_) {
      highest_used_ = used;
      const uint64_t free = details.free_bytes[row];
      figures_.capacity_bytes = free == kUnknownBytes ? kUnknownBytes : used + free;
    }
    figures_.window_peak_bytes = std::max(figures_.window_peak_bytes, heap);
    figures_.lifetime_peak_bytes = std::max({figures_.lifetime_peak_bytes, heap, details.peak_bytes[row]});
  }

  std::span<uint32_t> rows_;
  DecodedEvents& events_;
  FlatMap<uint64_t, uint64_t> live_sizes_;  // by address; only kept when frees lack sizes
  HeapFigures figures_;
  uint64_t heap_bytes_ = 0;
  uint64_t highest_used_ = 0;
  bool needs_sizes_ = false;
  bool seen_any_ = false;
};

}  // namespace

HeapFigures SequenceEvents(std::span<uint32_t> rows, DecodedEvents& events) { return Sequence(rows, events).Run(); }

}  // namespace memstrata::xla
