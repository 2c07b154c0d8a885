// The model against a recording.

#include <algorithm>
#include <iterator>
#include <tuple>

#include "sim/recorded_state.h"
#include "sim/trace_replay.h"

namespace memstrata::sim {
namespace {

class Comparison {
 public:
  Comparison(const Store& store, const Heap& heap)
      : store_(store),
        heap_(heap),
        limit_(RecordedLimit(store, heap)),
        allocator_(limit_, RecordedSettings(store, heap)),
        block_of_(heap.allocations.size(), kNoBlock) {}

  Agreement Run() {
    if (!CanReplay(heap_)) return agreement_;
    RestoreBeginning(store_, heap_, allocator_, block_of_);
    allocator_.SetDriverLog(&made_);
    for (uint32_t seq = 0; seq < heap_.events.size(); ++seq) Step(seq);
    ApplyGivenBack();
    CompareEnd();
    return agreement_;
  }

 private:
  void Step(uint32_t seq) {
    const uint32_t row = store_.EventRow(heap_, seq);
    const uint64_t addr = store_.events.addr[row];
    const uint64_t size_bytes = store_.events.size_bytes[row];
    switch (store_.events.kind[row]) {
      case EventKind::kSegmentAlloc:
        recorded_.push_back({DriverCall::Kind::kAlloc, addr, size_bytes});
        break;
      case EventKind::kSegmentMap:
        recorded_.push_back({DriverCall::Kind::kMap, addr, size_bytes});
        break;
      case EventKind::kSegmentFree:
        recorded_.push_back({DriverCall::Kind::kFree, addr, size_bytes});
        break;
      case EventKind::kSegmentUnmap:
        recorded_.push_back({DriverCall::Kind::kUnmap, addr, size_bytes});
        break;
      case EventKind::kAlloc:
        Alloc(row, seq);
        break;
      case EventKind::kFreeRequested:
        if (BlockId* block = BlockOf(row)) allocator_.MarkPending(*block);
        break;
      case EventKind::kFreeCompleted:
        ApplyGivenBack();
        if (BlockId* block = BlockOf(row)) {
          allocator_.Free(*block);
          *block = kNoBlock;
        }
        break;
      case EventKind::kOutOfMemory:
        Fail(row, seq);
        break;
      default:
        break;
    }
  }

  BlockId* BlockOf(uint32_t row) {
    const uint32_t allocation = store_.events.allocation[row];
    if (allocation == kNone) return nullptr;
    BlockId& block = block_of_[allocation - heap_.allocations.begin];
    return block == kNoBlock ? nullptr : &block;
  }

  // Calls that serve no request are empty_cache(): given, not the model's decision.
  void ApplyGivenBack() {
    for (const DriverCall& call : recorded_) {
      if (call.kind == DriverCall::Kind::kFree) allocator_.ReleaseSegmentAt(call.addr);
      if (call.kind == DriverCall::Kind::kUnmap) allocator_.UnmapAt(call.addr, call.size_bytes);
    }
    recorded_.clear();
    made_.clear();
  }

  static bool IsTaking(const DriverCall& call) {
    return call.kind == DriverCall::Kind::kAlloc || call.kind == DriverCall::Kind::kMap;
  }

  void Alloc(uint32_t row, uint32_t seq) {
    // What is given back before a new segment is the allocator's own retry, when the device's limit tells so.
    const bool takes = std::any_of(recorded_.begin(), recorded_.end(), IsTaking);
    const bool model_decides = limit_ && takes;
    if (!model_decides) GiveBackFirst();
    for (const DriverCall& call : recorded_) {
      if (IsTaking(call)) {
        allocator_.SetNextAddress(call.addr);
        break;
      }
    }
    made_.clear();
    const uint32_t allocation = store_.events.allocation[row];
    const uint32_t pool = ModelPool(store_, allocation == kNone ? kNone : store_.allocations.pool[allocation]);
    const BlockId block = allocator_.Allocate(store_.events.size_bytes[row], store_.events.stream[row], pool);
    ++agreement_.allocation_count;
    const bool same_place = block != kNoBlock && allocator_.AddressOf(block) == store_.events.addr[row];
    const bool same_calls = CompareCalls();
    if (same_place) ++agreement_.same_place_count;
    if ((!same_place || !same_calls) && agreement_.first_difference_seq == kNone) agreement_.first_difference_seq = seq;
    Remember(row, same_place && same_calls ? block : PutRight(block, row, pool));
    recorded_.clear();
    made_.clear();
  }

  // Without a known limit the model never fails, so what was given back is given.
  void GiveBackFirst() {
    for (const DriverCall& call : recorded_) {
      if (call.kind == DriverCall::Kind::kFree) allocator_.ReleaseSegmentAt(call.addr);
      if (call.kind == DriverCall::Kind::kUnmap) allocator_.UnmapAt(call.addr, call.size_bytes);
    }
    std::erase_if(recorded_, [](const DriverCall& call) { return !IsTaking(call); });
  }

  bool CompareCalls() {
    const auto by_address = [](const DriverCall& a, const DriverCall& b) {
      return std::tuple(a.kind, a.addr, a.size_bytes) < std::tuple(b.kind, b.addr, b.size_bytes);
    };
    std::sort(recorded_.begin(), recorded_.end(), by_address);
    std::sort(made_.begin(), made_.end(), by_address);
    std::vector<DriverCall> same;
    std::set_intersection(recorded_.begin(), recorded_.end(), made_.begin(), made_.end(), std::back_inserter(same),
                          by_address);
    const size_t count = std::max(recorded_.size(), made_.size());
    agreement_.driver_call_count += static_cast<uint32_t>(count);
    agreement_.same_driver_call_count += static_cast<uint32_t>(same.size());
    return same.size() == count;
  }

  // Undoes what the model did and does what was recorded.
  BlockId PutRight(BlockId block, uint32_t row, uint32_t pool) {
    if (block != kNoBlock) allocator_.Free(block);
    for (const DriverCall& call : made_) {
      if (IsTaking(call)) allocator_.ReleaseSegmentAt(call.addr);
    }
    const uint64_t request_bytes = store_.events.size_bytes[row];
    const uint32_t stream = store_.events.stream[row];
    const AllocatorSettings settings = RecordedSettings(store_, heap_);
    const uint64_t block_bytes = settings.rounding.BlockBytes(request_bytes);
    for (const DriverCall& call : recorded_) {
      if (call.kind == DriverCall::Kind::kFree) allocator_.ReleaseSegmentAt(call.addr);
      if (call.kind == DriverCall::Kind::kAlloc)
        allocator_.AddSegment(call.addr, call.size_bytes, stream, pool, block_bytes <= kSmallRequestBytes, false);
    }
    const uint32_t allocation = store_.events.allocation[row];
    const uint64_t recorded_bytes =
        allocation == kNone || (store_.allocations.flags[allocation] & kBlockApproximate) != 0
            ? block_bytes
            : store_.allocations.block_bytes[allocation];
    return allocator_.TakeAt(store_.events.addr[row], recorded_bytes, stream);
  }

  void Remember(uint32_t row, BlockId block) {
    const uint32_t allocation = store_.events.allocation[row];
    if (block == kNoBlock) ++agreement_.unplaced_count;
    if (allocation != kNone) block_of_[allocation - heap_.allocations.begin] = block;
  }

  void Fail(uint32_t row, uint32_t seq) {
    ++agreement_.failure_count;
    made_.clear();
    const BlockId block = allocator_.Allocate(store_.events.size_bytes[row], store_.events.stream[row], 0);
    if (block == kNoBlock) {
      ++agreement_.same_failure_count;
    } else {
      allocator_.Free(block);
    }
    if (!CompareCalls() && agreement_.first_difference_seq == kNone) agreement_.first_difference_seq = seq;
    recorded_.clear();
    made_.clear();
  }

  void CompareEnd() {
    const AllocationTable& table = store_.allocations;
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      const BlockId block = block_of_[row - heap_.allocations.begin];
      if (table.free_seq[row] != kNone || (table.flags[row] & (kBlockApproximate | kGhost)) != 0) continue;
      if (block == kNoBlock || table.alloc_seq[row] == kNone) continue;
      ++agreement_.final_block_count;
      if (allocator_.BlockBytes(block) == table.block_bytes[row]) ++agreement_.same_final_block_count;
    }
  }

  const Store& store_;
  const Heap& heap_;
  std::optional<uint64_t> limit_;
  CachingAllocator allocator_;
  std::vector<BlockId> block_of_;     // [allocation row - heap.allocations.begin]
  std::vector<DriverCall> recorded_;  // since the last request
  std::vector<DriverCall> made_;
  Agreement agreement_;
};

}  // namespace

Agreement CompareWithRecording(const Store& store, const Heap& heap) { return Comparison(store, heap).Run(); }

}  // namespace memstrata::sim
