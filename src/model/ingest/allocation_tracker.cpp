#include "model/ingest/allocation_tracker.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace memstrata {

Result<PairingResult> AllocationTracker::Run(const std::vector<FinalBlock>* final_blocks) {
  heap_.allocations.begin = static_cast<uint32_t>(table_.size());
  if (uint64_t{table_.size()} + heap_.events.size() >= kPreexistingBit) {
    return Fail(ErrorCode::kLimitExceeded, "More than 2,147,483,647 allocations.");
  }
  ReserveRows();
  for (uint32_t row = heap_.events.begin; row < heap_.events.end; ++row) {
    const uint32_t seq = row - heap_.events.begin;
    if (!stack_levels_.empty()) FollowStackLevel(seq);
    switch (events_.kind[row]) {
      case EventKind::kAlloc:
        Alloc(row, seq);
        break;
      case EventKind::kFreeRequested:
        FreeRequested(row, seq);
        break;
      case EventKind::kFreeCompleted:
        FreeCompleted(row, seq);
        break;
      default:
        break;
    }
  }
  if (final_blocks != nullptr) {
    MatchFinalBlocks(*final_blocks);
    MarkGhosts();
  }
  NoteUnexplainedRequests();
  AppendPreexistingRows();
  heap_.allocations.end = static_cast<uint32_t>(table_.size());
  return result_;
}

void AllocationTracker::ReserveRows() {
  events_.allocation.Reserve(heap_.events.end);
  events_.allocation.Resize(heap_.events.end, kNone);
  const auto kinds = events_.kind.span().subspan(heap_.events.begin, heap_.events.size());
  const size_t rows =
      table_.size() + static_cast<size_t>(std::count(kinds.begin(), kinds.end(), EventKind::kAlloc)) + CountStackRows();
  table_.addr.Reserve(rows);
  table_.size_bytes.Reserve(rows);
  table_.block_bytes.Reserve(rows);
  for (Column<uint32_t>* column :
       {&table_.alloc_seq, &table_.free_requested_seq, &table_.free_seq, &table_.stream, &table_.pool})
    column->Reserve(rows);
  table_.stack.Reserve(rows);
  table_.free_stack.Reserve(rows);
  table_.flags.Reserve(rows);
}

size_t AllocationTracker::CountStackRows() const {
  size_t count = 0;
  for (size_t seq = 0; seq < stack_levels_.size(); ++seq)
    count += stack_levels_[seq] != 0 && (seq == 0 || stack_levels_[seq] != stack_levels_[seq - 1]) ? 1 : 0;
  return count;
}

void AllocationTracker::FollowStackLevel(uint32_t seq) {
  const uint64_t before = seq == 0 ? 0 : stack_levels_[seq - 1];
  if (stack_levels_[seq] == before) return;
  if (stack_row_ != kNone) {
    table_.free_requested_seq[stack_row_] = seq;
    table_.free_seq[stack_row_] = seq;
    stack_row_ = kNone;
  }
  if (stack_levels_[seq] == 0) return;
  stack_row_ = static_cast<uint32_t>(table_.size());
  const uint64_t size_bytes = Believable(stack_levels_[seq]);
  AppendRow(kUnknownBytes, size_bytes, seq, stack_name_, builder_.InternStream(0), kNone, kReservedStack);
}

void AllocationTracker::AppendRow(uint64_t addr, uint64_t size_bytes, uint32_t seq, StackId stack, uint32_t stream,
                                  uint32_t pool, uint8_t flags) {
  table_.addr.PushBackReserved(addr);
  table_.size_bytes.PushBackReserved(size_bytes);
  table_.block_bytes.PushBackReserved(BlockBytes(size_bytes));
  table_.alloc_seq.PushBackReserved(seq);
  table_.free_requested_seq.PushBackReserved(kNone);
  table_.free_seq.PushBackReserved(kNone);
  table_.stack.PushBackReserved(stack);
  table_.free_stack.PushBackReserved({0});
  table_.stream.PushBackReserved(stream);
  table_.pool.PushBackReserved(pool);
  table_.flags.PushBackReserved(flags);
}

// Sums of sizes must not overflow in any later curve: a size that would bring the total beyond 2^62 is counted as 0.
uint64_t AllocationTracker::Believable(uint64_t size_bytes) {
  constexpr uint64_t kLargestTotalBytes = 1ULL << 62;
  if (size_bytes <= kLargestTotalBytes - live_bytes_bound_) {
    live_bytes_bound_ += size_bytes;
    return size_bytes;
  }
  builder_.diagnostics().Note(Severity::kDataLoss, "implausible_total",
                              "The sizes add up to more than 2^62 bytes; what goes beyond is counted as 0.");
  return 0;
}

void AllocationTracker::Alloc(uint32_t row, uint32_t seq) {
  const auto id = static_cast<uint32_t>(table_.size());
  const auto [entry, is_new] = live_.try_emplace(events_.addr[row], id);
  if (!is_new) {
    EndRow(entry->second, row, seq);
    table_.flags[entry->second] |= kDisplaced;
    entry->second = id;
    builder_.diagnostics().Note(Severity::kWarning, "allocated_while_live",
                                "Blocks were allocated at an address that was still live: the free before it was not "
                                "recorded. The old block ends there.");
  }
  AppendRow(events_.addr[row], Believable(events_.size_bytes[row]), seq, events_.stack[row], events_.stream[row],
            events_.pool.empty() ? kNone : events_.pool[row], ApproximateFlag());
  events_.allocation[row] = id;
}

// A block that is known only by its free.
uint32_t AllocationTracker::AddPreexisting(uint32_t row, uint32_t seq) {
  const uint64_t size_bytes = Believable(events_.size_bytes[row]);
  const uint32_t id = kPreexistingBit | static_cast<uint32_t>(preexisting_.size());
  preexisting_.push_back({events_.addr[row], size_bytes, BlockBytes(size_bytes), kNone, seq, events_.stream[row],
                          events_.pool.empty() ? kNone : events_.pool[row], StackId{0}, events_.stack[row],
                          static_cast<uint8_t>(kPreexisting | kFreeUnmatched | ApproximateFlag())});
  events_.allocation[row] = id;
  return id;
}

void AllocationTracker::EndRow(uint32_t id, uint32_t row, uint32_t seq) {
  table_.free_seq[id] = seq;
  if (events_.kind[row] != EventKind::kFreeCompleted) return;
  if (events_.size_bytes[row] != table_.size_bytes[id]) {
    builder_.diagnostics().Note(
        Severity::kWarning, "free_size_differs",
        "Frees name another size than the allocation at their address; the allocation's size counts.");
  }
  const StackId stack = events_.stack[row];
  if (stack.value == 0) return;
  table_.free_stack[id] = stack;
  (stack == table_.stack[id] ? equal_free_stacks_ : other_free_stacks_) += 1;
}

void AllocationTracker::FreeRequested(uint32_t row, uint32_t seq) {
  const uint64_t addr = events_.addr[row];
  const bool completes_at_once =
      row + 1 < heap_.events.end && events_.kind[row + 1] == EventKind::kFreeCompleted && events_.addr[row + 1] == addr;
  const auto found = live_.find(addr);
  if (found == live_.end()) {
    if (completes_at_once) {
      const uint32_t id = AddPreexisting(row + 1, seq + 1);
      events_.allocation[row] = id;
      preexisting_.back().free_requested_seq = seq;
    } else {
      unknown_requests_.try_emplace(addr, row);
    }
    return;
  }
  const uint32_t id = found->second;
  events_.allocation[row] = id;
  uint32_t& requested = table_.free_requested_seq[id];
  if (requested == kNone) {
    requested = seq;
  } else {
    builder_.diagnostics().Note(
        Severity::kWarning, "freed_twice",
        "Blocks were given back twice without being allocated in between; the first time counts.");
  }
  if (!completes_at_once) return;
  // FreeCompleted() of the next row would look the address up again.
  EndRow(id, row + 1, seq + 1);
  events_.allocation[row + 1] = id;
  live_.erase(found);
}

void AllocationTracker::FreeCompleted(uint32_t row, uint32_t seq) {
  if (events_.allocation[row] != kNone) return;  // done with its request
  if (const auto found = live_.find(events_.addr[row]); found != live_.end()) {
    events_.allocation[row] = found->second;
    EndRow(found->second, row, seq);
    live_.erase(found);
    return;
  }
  const uint32_t id = AddPreexisting(row, seq);
  if (const auto request = unknown_requests_.find(events_.addr[row]); request != unknown_requests_.end()) {
    preexisting_.back().free_requested_seq = request->second - heap_.events.begin;
    events_.allocation[request->second] = id;
    unknown_requests_.erase(request);
  }
}

void AllocationTracker::MatchFinalBlocks(std::vector<FinalBlock> blocks) {
  const auto by_address = [](const FinalBlock& a, const FinalBlock& b) { return a.addr < b.addr; };
  if (!std::is_sorted(blocks.begin(), blocks.end(), by_address))
    std::stable_sort(blocks.begin(), blocks.end(), by_address);
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i + 1 < blocks.size() && blocks[i + 1].addr == blocks[i].addr) {
      builder_.diagnostics().Note(Severity::kWarning, "duplicate_block",
                                  "Several blocks of the final state have the same address; the last one counts.");
      continue;
    }
    MatchFinalBlock(blocks[i]);
  }
}

void AllocationTracker::MatchFinalBlock(const FinalBlock& block) {
  Column<uint32_t>& block_allocation = builder_.store().blocks.allocation;
  const auto found = live_.find(block.addr);
  if (found == live_.end()) {
    const uint32_t id = kPreexistingBit | static_cast<uint32_t>(preexisting_.size());
    block_allocation[block.block_row] = id;
    preexisting_.push_back({block.addr, Believable(block.requested_bytes), block.block_bytes, kNone, kNone,
                            block.stream, block.pool, block.stack, StackId{0}, kPreexisting});
    if (block.stack.value != 0) ++result_.preexisting_with_stack_count;
    if (const auto request = unknown_requests_.find(block.addr); request != unknown_requests_.end()) {
      preexisting_.back().free_requested_seq = request->second - heap_.events.begin;
      events_.allocation[request->second] = id;
      unknown_requests_.erase(request);
    }
    return;
  }
  const uint32_t id = found->second;
  live_.erase(found);
  block_allocation[block.block_row] = id;
  if (table_.size_bytes[id] != block.requested_bytes) {
    builder_.diagnostics().Note(Severity::kWarning, "block_size_differs",
                                "Blocks of the final state were requested with another size than their allocation "
                                "event says; the event's size counts.");
  }
  table_.block_bytes[id] = block.block_bytes;
  table_.flags[id] &= static_cast<uint8_t>(~kBlockApproximate);
  if (table_.pool[id] == kNone) table_.pool[id] = block.pool;
}

void AllocationTracker::MarkGhosts() {
  uint64_t ghost_bytes = 0;
  for (const auto& [addr, id] : live_) {
    table_.flags[id] |= kGhost;
    ghost_bytes += table_.size_bytes[id];
  }
  if (live_.empty()) return;
  builder_.diagnostics().Note(Severity::kWarning, "live_without_block",
                              fmt::format("On {}, {} that are live by the events are not in the final state: their "
                                          "frees, or their segments, are missing from the file.",
                                          heap_.id, FormatBytes(ghost_bytes)),
                              kUnknownBytes, live_.size());
}

void AllocationTracker::NoteUnexplainedRequests() {
  if (unknown_requests_.empty()) return;
  builder_.diagnostics().Note(Severity::kWarning, "free_of_unknown_block",
                              "Frees were requested at addresses where no event and no block of the final state shows "
                              "a block; they have no effect.",
                              kUnknownBytes, unknown_requests_.size());
}

void AllocationTracker::AppendPreexistingRows() {
  result_.preexisting_count = preexisting_.size();
  if (preexisting_.empty()) return;
  // Recorded with context="alloc", a free carries the stack of the allocation: then it tells who made the block.
  constexpr uint64_t kEnoughEvidence = 32;
  const bool free_stack_is_alloc_stack = equal_free_stacks_ >= kEnoughEvidence && other_free_stacks_ == 0;
  const auto base = static_cast<uint32_t>(table_.size());
  for (PreexistingBlock& block : preexisting_) {
    if (block.stack.value == 0 && free_stack_is_alloc_stack) block.stack = block.free_stack;
    AppendPreexisting(table_, block);
  }
  const auto resolve = [base](uint32_t& id) {
    if (id != kNone && (id & kPreexistingBit) != 0) id = base + (id & ~kPreexistingBit);
  };
  for (uint32_t row = heap_.events.begin; row < heap_.events.end; ++row) resolve(events_.allocation[row]);
  for (uint32_t row = heap_.blocks.begin; row < heap_.blocks.end; ++row)
    resolve(builder_.store().blocks.allocation[row]);
}

}  // namespace memstrata
