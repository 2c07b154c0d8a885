#pragma once
// Pairs the allocation and free events of one heap into lifetimes. Unmatched frees, blocks that exist without an event,
// addresses that are reused without a free: all of it is decided here, once, for every format.
//
// Rules: live ends at free_completed. An allocation at a live address ends the old block. A free of an unknown address,
// and a block of the final state that no event explains, is a block that existed before the first event.

#include <span>
#include <vector>

#include "base/flat_map.h"
#include "model/allocator/block_rounding.h"
#include "model/store/preexisting_block.h"
#include "model/store/store_builder.h"

namespace memstrata {

/// A block in use in the final state of a heap.
struct FinalBlock {
  uint64_t addr = 0;
  uint64_t requested_bytes = 0;
  uint64_t block_bytes = 0;
  uint32_t stream = kNone;
  uint32_t pool = kNone;
  StackId stack{0};
  uint32_t block_row = kNone;  // → BlockTable; its `allocation` is filled in
};

/// What pairing found, for the reader to draw conclusions from.
struct PairingResult {
  uint64_t preexisting_count = 0;
  uint64_t preexisting_with_stack_count =
      0;  // allocated while recording was on, yet without an event: events were lost
};

class AllocationTracker {
 public:
  /// Works on the rows [first, end) of the event table, whose `allocation` column it fills; `heap.events` must be set.
  /// `rounding` says how requests become blocks; null: the sizes of the events are block sizes.
  AllocationTracker(StoreBuilder& builder, Heap& heap, const BlockRounding* rounding)
      : builder_(builder),
        heap_(heap),
        rounding_(rounding),
        events_(builder.store().events),
        table_(builder.store().allocations) {}

  /// What the runtime reserves beside the allocator's blocks, after each event: a row of its own for as long as it
  /// stays the same (kReservedStack), with `stack` as its name. `level_bytes` must outlive Run().
  void set_reserved_stack(std::span<const uint64_t> level_bytes, StackId stack) {
    stack_levels_ = level_bytes;
    stack_name_ = stack;
  }

  /// `final_blocks` is null when the state at the end is not known.
  /// cost: O(events), one hash look-up each; a free that completes at once costs one for both halves.
  Result<PairingResult> Run(const std::vector<FinalBlock>* final_blocks);

 private:
  // Marks an index into preexisting_ in the columns that refer to allocations, until the rows have their place.
  static constexpr uint32_t kPreexistingBit = 0x80000000;

  void ReserveRows();
  size_t CountStackRows() const;
  void FollowStackLevel(uint32_t seq);
  void AppendRow(uint64_t addr, uint64_t size_bytes, uint32_t seq, StackId stack, uint32_t stream, uint32_t pool,
                 uint8_t flags);
  void Alloc(uint32_t row, uint32_t seq);
  void FreeRequested(uint32_t row, uint32_t seq);
  void FreeCompleted(uint32_t row, uint32_t seq);
  uint32_t AddPreexisting(uint32_t row, uint32_t seq);
  void EndRow(uint32_t id, uint32_t row, uint32_t seq);
  void MatchFinalBlocks(std::vector<FinalBlock> blocks);
  void MatchFinalBlock(const FinalBlock& block);
  void MarkGhosts();
  void NoteUnexplainedRequests();
  void AppendPreexistingRows();
  uint64_t Believable(uint64_t size_bytes);
  uint64_t BlockBytes(uint64_t size_bytes) const {
    return rounding_ == nullptr ? size_bytes : rounding_->BlockBytes(size_bytes);
  }
  uint8_t ApproximateFlag() const { return rounding_ == nullptr ? 0 : kBlockApproximate; }

  StoreBuilder& builder_;
  Heap& heap_;
  const BlockRounding* rounding_;
  EventTable& events_;
  AllocationTable& table_;
  FlatMap<uint64_t, uint32_t> live_;  // addr → allocation row
  // Frees that were requested at an unknown address and are not complete yet: addr → event row. Whether there was a
  // block is known when the free completes, or when the final state has it.
  FlatMap<uint64_t, uint32_t> unknown_requests_;
  std::vector<PreexistingBlock> preexisting_;  // become rows after all others
  PairingResult result_;
  std::span<const uint64_t> stack_levels_;  // by seq; empty = none is reserved
  StackId stack_name_{0};
  uint32_t stack_row_ = kNone;      // the row of the present level
  uint64_t live_bytes_bound_ = 0;   // Σ of everything ever live: must stay summable
  uint64_t equal_free_stacks_ = 0;  // matched frees whose stack is the allocation's own
  uint64_t other_free_stacks_ = 0;
};

}  // namespace memstrata
