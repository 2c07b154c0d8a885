#include "plan/eager/device.h"

#include <algorithm>

namespace memstrata::plan::eager {

std::string_view PhaseName(Phase phase) {
  static constexpr std::string_view kNames[kPhaseCount] = {"build",     "input",     "forward", "backward",
                                                           "optimizer", "zero_grad", "prefill", "decode"};
  return kNames[static_cast<size_t>(phase)];
}

Device::BlockId Device::Allocate(uint64_t requested_bytes, Category category) {
  if (spans_.empty()) Enter(Phase::kBuild, 0);
  sim::BlockId block = allocator_.Allocate(requested_bytes, stream_);
  if (block == sim::kNoBlock) {
    if (!out_of_memory_) {
      out_of_memory_ = OutOfMemory{phase_, spans_.back().step, requested_bytes, allocator_.allocated_bytes(),
                                   allocator_.reserved_bytes()};
    }
    allocator_.LiftLimit();  // go on: how much it would have needed is part of the answer
    block = allocator_.Allocate(requested_bytes, stream_);
  }
  const auto id = static_cast<BlockId>(blocks_.size());
  blocks_.push_back({block, requested_bytes, allocator_.BlockBytes(block), category});
  events_.push_back({id, false});
  requested_live_bytes_ += requested_bytes;
  largest_request_bytes_ = std::max(largest_request_bytes_, requested_bytes);
  Span& span = spans_.back();
  span.peak_allocated_bytes = std::max(span.peak_allocated_bytes, allocator_.allocated_bytes());
  span.peak_requested_bytes = std::max(span.peak_requested_bytes, requested_live_bytes_);
  return id;
}

void Device::Free(BlockId id) {
  BlockRecord& record = blocks_[id];
  allocator_.Free(record.block);
  record.block = sim::kNoBlock;
  requested_live_bytes_ -= record.requested_bytes;
  events_.push_back({id, true});
}

void Device::Enter(Phase phase, uint32_t step) {
  phase_ = phase;
  spans_.push_back({phase, step, events_.size(), allocator_.allocated_bytes(), requested_live_bytes_});
}

void Device::RelabelLive(Category from, Category to) {
  for (BlockRecord& record : blocks_) {
    if (record.block != sim::kNoBlock && record.category == from) record.category = to;
  }
}

CategoryBytes Device::LiveBytes() const {
  CategoryBytes live{};
  for (const BlockRecord& record : blocks_) {
    if (record.block != sim::kNoBlock) live[static_cast<size_t>(record.category)] += record.requested_bytes;
  }
  return live;
}

std::optional<uint64_t> Device::PhasePeak(Phase phase, uint32_t first_step) const {
  std::optional<uint64_t> peak;
  for (const Span& span : spans_) {
    if (span.phase == phase && span.step >= first_step) peak = std::max(peak.value_or(0), span.peak_allocated_bytes);
  }
  return peak;
}

Phase Device::PeakPhase(uint32_t first_step) const {
  const Span* best = nullptr;
  for (const Span& span : spans_) {
    if (span.step < first_step) continue;
    if (best == nullptr || span.peak_requested_bytes > best->peak_requested_bytes) best = &span;
  }
  return best == nullptr ? Phase::kBuild : best->phase;
}

Peak Device::FindPeak(uint32_t first_step) const {
  Peak peak;
  CategoryBytes live{};
  uint64_t allocated_bytes = 0;
  uint64_t requested_bytes = 0;
  size_t next_span = 0;
  uint32_t step = 0;
  for (size_t i = 0; i < events_.size(); ++i) {
    while (next_span < spans_.size() && spans_[next_span].begin_event <= i) step = spans_[next_span++].step;
    const BlockRecord& record = blocks_[events_[i].block];
    uint64_t& bytes = live[static_cast<size_t>(record.category)];
    if (events_[i].is_free) {
      bytes -= record.requested_bytes;
      requested_bytes -= record.requested_bytes;
      allocated_bytes -= record.block_bytes;
      continue;
    }
    bytes += record.requested_bytes;
    requested_bytes += record.requested_bytes;
    allocated_bytes += record.block_bytes;
    if (step < first_step || allocated_bytes <= peak.allocated_bytes) continue;
    peak = {allocated_bytes, requested_bytes, step, live, allocated_bytes - requested_bytes};
  }
  return peak;
}

}  // namespace memstrata::plan::eager
