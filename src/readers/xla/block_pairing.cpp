#include "readers/xla/block_pairing.h"

#include <algorithm>
#include <vector>

#include "base/flat_map.h"
#include "readers/xla/event_order.h"

namespace memstrata::xla {
namespace {

class Pairing {
 public:
  Pairing(std::span<uint32_t> rows, DecodedEvents& events, AllocationTable& allocations, Column<uint32_t>& links)
      : rows_(rows), events_(events), allocations_(allocations), links_(links), first_link_(links.size()) {}

  HeapFigures Run() {
    const Column<int64_t>& time_ps = events_.details.time_ps;
    for (size_t i = 0; i < rows_.size();) {
      size_t end = i + 1;
      while (end < rows_.size() && time_ps[rows_[end]] == time_ps[rows_[i]]) ++end;
      if (end - i > 1) OrderGroup(rows_.subspan(i, end - i));
      for (; i < end; ++i) AddEvent(rows_[i]);
    }
    AppendPreexisting();
    return figures_;
  }

 private:
  // An unmatched free: its block lived before the recording.
  struct EarlierBlock {
    uint32_t free_seq;
    uint64_t addr;
    uint64_t size_bytes;
  };

  bool IsAllocation(uint32_t row) const { return events_.is_allocation[row] != 0; }

  uint64_t LiveSize(uint64_t addr) const {
    const auto found = live_.find(addr);
    return found == live_.end() ? 0 : allocations_.size_bytes[found->second];
  }

  void OrderGroup(std::span<uint32_t> group) {
    // Frees without a size take that of their block, which may be allocated within the group.
    FlatMap<uint64_t, uint64_t> sizes;
    for (const uint32_t row : group) {
      if (IsAllocation(row)) sizes[events_.addr[row]] = events_.size_bytes[row];
    }
    std::vector<HeapChange> changes;
    changes.reserve(group.size());
    for (const uint32_t row : group) {
      const uint64_t after = events_.details.heap_bytes[row];
      uint64_t size = events_.size_bytes[row];
      if (size == 0 && !IsAllocation(row)) {
        size = LiveSize(events_.addr[row]);
        const auto found = sizes.find(events_.addr[row]);
        if (size == 0 && found != sizes.end()) size = found->second;
      }
      changes.push_back({IsAllocation(row) ? after - size : after + size, after});
    }
    const std::vector<uint32_t> order = OrderOfEqualTimes(changes, seq_ > 0, heap_bytes_);
    const std::vector<uint32_t> recorded(group.begin(), group.end());
    for (size_t i = 0; i < group.size(); ++i) group[i] = recorded[order[i]];
  }

  void AddEvent(uint32_t row) {
    const uint64_t heap = events_.details.heap_bytes[row];
    if (IsAllocation(row)) {
      AddAllocation(row);
    } else {
      AddFree(row, heap);
    }
    const uint64_t size = events_.size_bytes[row];
    const uint64_t before = IsAllocation(row) ? heap - size : heap + size;
    if (seq_ == 0) {
      figures_.preexisting_bytes = IsAllocation(row) && size > heap ? 0 : before;
    } else if (before != heap_bytes_) {
      ++figures_.jump_count;
    }
    heap_bytes_ = heap;
    NoteHeights(row, heap);
    ++seq_;
  }

  void AddAllocation(uint32_t row) {
    const auto block = static_cast<uint32_t>(allocations_.size());
    const auto [entry, is_new] = live_.try_emplace(events_.addr[row], block);
    if (!is_new) {
      allocations_.free_seq[entry->second] = seq_;
      allocations_.flags[entry->second] |= kDisplaced;
      entry->second = block;
      ++figures_.displaced_count;
    }
    Append(events_.addr[row], events_.size_bytes[row], seq_, kNone, 0);
    links_.PushBack(block);
  }

  void AddFree(uint32_t row, uint64_t heap) {
    uint64_t& size = events_.size_bytes[row];
    const auto found = live_.find(events_.addr[row]);
    const bool has_size = size != 0;
    if (found != live_.end()) {
      const uint32_t block = found->second;
      if (!has_size) size = allocations_.size_bytes[block];
      allocations_.free_requested_seq[block] = seq_;
      allocations_.free_seq[block] = seq_;
      live_.erase(found);
      links_.PushBack(block);
    } else {
      if (!has_size && seq_ > 0 && heap_bytes_ > heap) size = heap_bytes_ - heap;
      earlier_.push_back({seq_, events_.addr[row], size});
      links_.PushBack(kNone);  // AppendPreexisting fills it in
      ++figures_.unmatched_free_count;
    }
    if (!has_size) events_.details.blind[row] |= kBlindSize;
  }

  void NoteHeights(uint32_t row, uint64_t heap) {
    const XPlaneEventTable& details = events_.details;
    const uint64_t used = details.stack_bytes[row] + heap;
    if (used > highest_used_ || seq_ == 0) {
      highest_used_ = used;
      const uint64_t free = details.free_bytes[row];
      figures_.capacity_bytes = free == kUnknownBytes ? kUnknownBytes : used + free;
    }
    figures_.window_peak_bytes = std::max(figures_.window_peak_bytes, heap);
    figures_.lifetime_peak_bytes = std::max({figures_.lifetime_peak_bytes, heap, details.peak_bytes[row]});
  }

  void AppendPreexisting() {
    uint64_t freed = 0;
    for (const EarlierBlock& block : earlier_) {
      links_[first_link_ + block.free_seq] = static_cast<uint32_t>(allocations_.size());
      Append(block.addr, block.size_bytes, kNone, block.free_seq, kPreexisting | kFreeUnmatched);
      freed += block.size_bytes;
    }
    if (figures_.preexisting_bytes > freed) {
      Append(kUnknownBytes, figures_.preexisting_bytes - freed, kNone, kNone, kPreexisting);
    }
  }

  void Append(uint64_t addr, uint64_t size_bytes, uint32_t alloc_seq, uint32_t free_seq, uint8_t flags) {
    allocations_.addr.PushBack(addr);
    allocations_.size_bytes.PushBack(size_bytes);
    allocations_.block_bytes.PushBack(size_bytes);
    allocations_.alloc_seq.PushBack(alloc_seq);
    allocations_.free_requested_seq.PushBack(free_seq);
    allocations_.free_seq.PushBack(free_seq);
    allocations_.stack.PushBack(StackId{0});
    allocations_.free_stack.PushBack(StackId{0});
    allocations_.stream.PushBack(0);
    allocations_.pool.PushBack(0);
    allocations_.flags.PushBack(flags);
  }

  std::span<uint32_t> rows_;
  DecodedEvents& events_;
  AllocationTable& allocations_;
  Column<uint32_t>& links_;
  size_t first_link_;
  FlatMap<uint64_t, uint32_t> live_;  // address → allocation row
  std::vector<EarlierBlock> earlier_;
  HeapFigures figures_;
  uint64_t heap_bytes_ = 0;
  uint64_t highest_used_ = 0;
  uint32_t seq_ = 0;
};

}  // namespace

HeapFigures PairBlocks(std::span<uint32_t> rows, DecodedEvents& events, AllocationTable& allocations,
                       Column<uint32_t>& event_allocations) {
  return Pairing(rows, events, allocations, event_allocations).Run();
}

}  // namespace memstrata::xla
