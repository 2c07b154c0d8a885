// A recorded trace under other settings or in another order.

#include <algorithm>
#include <tuple>

#include "model/store/moment.h"
#include "sim/recorded_state.h"
#include "sim/trace_replay.h"

namespace memstrata::sim {
namespace {

class Replay {
 public:
  Replay(const Store& store, const Heap& heap, const WhatIf& what_if)
      : store_(store),
        heap_(heap),
        what_if_(what_if),
        allocator_(what_if.limit_bytes, what_if.settings),
        block_of_(heap.allocations.size(), kNoBlock),
        is_placed_(heap.allocations.size(), false) {}

  Outcome Run() {
    AllocateWhere([&](uint32_t row) { return store_.allocations.alloc_seq[row] == kNone; });
    if (what_if_.long_lived_first_seq != kNone) {
      const Moment at = Moment::AfterEvent(what_if_.long_lived_first_seq);
      AllocateWhere([&](uint32_t row) {
        return store_.allocations.alloc_seq[row] != kNone && IsLive(store_.allocations, row, at);
      });
    }
    const uint32_t end = what_if_.end_seq == kNone ? heap_.events.size() : what_if_.end_seq + 1;
    for (uint32_t seq = 0; seq < end && !HasEnded(); ++seq) Step(seq);
    outcome_.peak_reserved_bytes = allocator_.peak_reserved_bytes();
    outcome_.end_reserved_bytes = allocator_.reserved_bytes();
    outcome_.flush_count = allocator_.flush_count();
    return std::move(outcome_);
  }

 private:
  bool HasEnded() const { return what_if_.ends_at_new_failure && outcome_.first_new_failure_seq != kNone; }

  template <class Wanted>
  void AllocateWhere(Wanted&& wanted) {
    std::vector<uint32_t> rows;
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      if (wanted(row)) rows.push_back(row);
    }
    std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
      const AllocationTable& table = store_.allocations;
      return std::tuple(table.alloc_seq[a], table.addr[a], a) < std::tuple(table.alloc_seq[b], table.addr[b], b);
    });
    for (const uint32_t row : rows) Allocate(row, 0);
  }

  void Allocate(uint32_t row, uint32_t seq) {
    const uint32_t index = row - heap_.allocations.begin;
    if (is_placed_[index]) return;
    is_placed_[index] = true;
    const AllocationTable& table = store_.allocations;
    if (table.size_bytes[row] == 0) return;
    block_of_[index] =
        allocator_.Allocate(table.size_bytes[row], table.stream[row], ModelPool(store_, table.pool[row]));
    if (block_of_[index] == kNoBlock && outcome_.first_new_failure_seq == kNone) outcome_.first_new_failure_seq = seq;
  }

  void Step(uint32_t seq) {
    const uint32_t row = store_.EventRow(heap_, seq);
    const uint32_t allocation = store_.events.allocation[row];
    switch (store_.events.kind[row]) {
      case EventKind::kSegmentAlloc:
      case EventKind::kSegmentMap:
        gave_back_ = false;  // a flush before a new segment is the model's decision
        break;
      case EventKind::kAlloc:
        ApplyFlush();
        if (allocation != kNone) Allocate(allocation, seq);
        break;
      case EventKind::kFreeRequested:
      case EventKind::kFreeCompleted:
        ApplyFlush();
        if (allocation != kNone) Free(allocation, store_.events.kind[row] == EventKind::kFreeCompleted);
        break;
      case EventKind::kSegmentFree:
      case EventKind::kSegmentUnmap:
        gave_back_ = true;
        break;
      case EventKind::kOutOfMemory:
        gave_back_ = false;
        Fail(row, seq);
        break;
      default:
        break;
    }
  }

  // Memory was given back for no new segment: the program called empty_cache().
  void ApplyFlush() {
    if (gave_back_) allocator_.EmptyCache();
    gave_back_ = false;
  }

  void Free(uint32_t allocation, bool is_complete) {
    BlockId& block = block_of_[allocation - heap_.allocations.begin];
    if (block == kNoBlock) return;
    if (!is_complete) return allocator_.MarkPending(block);
    allocator_.Free(block);
    block = kNoBlock;
  }

  void Fail(uint32_t row, uint32_t seq) {
    const BlockId block = allocator_.Allocate(store_.events.size_bytes[row], store_.events.stream[row], 0);
    outcome_.failures.push_back({seq, block != kNoBlock, allocator_.reserved_bytes()});
    if (block != kNoBlock) allocator_.Free(block);
  }

  const Store& store_;
  const Heap& heap_;
  const WhatIf& what_if_;
  CachingAllocator allocator_;
  std::vector<BlockId> block_of_;
  std::vector<bool> is_placed_;
  bool gave_back_ = false;
  Outcome outcome_;
};

}  // namespace

Outcome ReplayWith(const Store& store, const Heap& heap, const WhatIf& what_if) {
  return Replay(store, heap, what_if).Run();
}

}  // namespace memstrata::sim
