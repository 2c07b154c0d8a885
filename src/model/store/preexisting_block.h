#pragma once
// A block that lived before the first event, as a row of the allocations table: what a recording only knows the end or
// the presence of.

#include "model/store/tables.h"

namespace memstrata {

/// As it stands: it lives at the end, and nobody knows its address or who made it.
struct PreexistingBlock {
  uint64_t addr = kUnknownBytes;
  uint64_t size_bytes = 0;
  uint64_t block_bytes = kUnknownBytes;
  uint32_t free_requested_seq = kNone;
  uint32_t free_seq = kNone;
  uint32_t stream = 0;
  uint32_t pool = kNone;
  StackId stack{0};
  StackId free_stack{0};
  uint8_t flags = kPreexisting;
};

/// Rows of a heap are in the order of their allocation, so that these come after all that have one.
inline void AppendPreexisting(AllocationTable& table, const PreexistingBlock& block) {
  table.addr.PushBack(block.addr);
  table.size_bytes.PushBack(block.size_bytes);
  table.block_bytes.PushBack(block.block_bytes);
  table.alloc_seq.PushBack(kNone);
  table.free_requested_seq.PushBack(block.free_requested_seq);
  table.free_seq.PushBack(block.free_seq);
  table.stack.PushBack(block.stack);
  table.free_stack.PushBack(block.free_stack);
  table.stream.PushBack(block.stream);
  table.pool.PushBack(block.pool);
  table.flags.PushBack(block.flags);
}

}  // namespace memstrata
