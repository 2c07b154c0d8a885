#include "model/ingest/allocation_tracker.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace memstrata {
namespace {

class Trace {
 public:
  Trace() { builder_.AddSource({.file = "test"}); }

  Trace& Add(EventKind kind, uint64_t addr, uint64_t size_bytes, uint32_t stack = 0) {
    EventTable& events = builder_.store().events;
    events.kind.PushBack(kind);
    events.addr.PushBack(addr);
    events.size_bytes.PushBack(size_bytes);
    events.stream.PushBack(builder_.InternStream(0));
    events.stack.PushBack({stack});
    return *this;
  }
  Trace& Alloc(uint64_t addr, uint64_t size_bytes, uint32_t stack = 0) {
    return Add(EventKind::kAlloc, addr, size_bytes, stack);
  }
  Trace& Free(uint64_t addr, uint64_t size_bytes, uint32_t stack = 0) {
    return Add(EventKind::kFreeRequested, addr, size_bytes, stack)
        .Add(EventKind::kFreeCompleted, addr, size_bytes, stack);
  }
  Trace& Active(uint64_t addr, uint64_t requested_bytes, uint64_t block_bytes, uint32_t stack = 0) {
    BlockTable& blocks = builder_.store().blocks;
    final_.push_back({addr, requested_bytes, block_bytes, 0, kNone, {stack}, static_cast<uint32_t>(blocks.size())});
    blocks.addr.PushBack(addr);
    blocks.size_bytes.PushBack(block_bytes);
    blocks.requested_bytes.PushBack(requested_bytes);
    blocks.state.PushBack(BlockState::kActive);
    blocks.segment.PushBack(0);
    blocks.allocation.PushBack(kNone);
    blocks.stack.PushBack({stack});
    return *this;
  }

  Store Pair() {
    Heap heap;
    heap.id = "cuda:0";
    heap.events = {0, static_cast<uint32_t>(builder_.store().events.size())};
    heap.blocks = {0, static_cast<uint32_t>(builder_.store().blocks.size())};
    const BlockRounding rounding;
    AllocationTracker tracker(builder_, heap, &rounding);
    const Result<PairingResult> result = tracker.Run(&final_);
    EXPECT_TRUE(result.has_value());
    pairing = result.value_or(PairingResult{});
    builder_.store().heaps.push_back(heap);
    Result<Store> store = std::move(builder_).Finalize();
    EXPECT_TRUE(store.has_value()) << store.error().message;
    return std::move(*store);
  }
  PairingResult pairing;

 private:
  StoreBuilder builder_;
  std::vector<FinalBlock> final_;
};

bool Has(const Store& store, std::string_view code) {
  return std::any_of(store.diagnostics.begin(), store.diagnostics.end(),
                     [&](const Diagnostic& entry) { return entry.code == code; });
}

TEST(AllocationTracker, PairsAnAllocationWithItsFree) {
  const Store store = Trace().Alloc(0x1000, 700).Free(0x1000, 700).Pair();
  ASSERT_EQ(store.allocations.size(), 1u);
  EXPECT_EQ(store.allocations.alloc_seq[0], 0u);
  EXPECT_EQ(store.allocations.free_requested_seq[0], 1u);
  EXPECT_EQ(store.allocations.free_seq[0], 2u);
  EXPECT_EQ(store.allocations.block_bytes[0], 1024u);
  EXPECT_EQ(store.events.allocation[2], 0u);
  EXPECT_TRUE(store.diagnostics.empty());
}

TEST(AllocationTracker, AFreeOfAnUnknownAddressIsABlockFromBefore) {
  const Store store = Trace().Alloc(0x1000, 512).Free(0x2000, 4096).Active(0x1000, 512, 512).Pair();
  ASSERT_EQ(store.allocations.size(), 2u);
  EXPECT_EQ(store.allocations.alloc_seq[1], kNone);  // such rows come last
  EXPECT_EQ(store.allocations.free_seq[1], 2u);
  EXPECT_EQ(store.allocations.flags[1] & kPreexisting, kPreexisting);
  EXPECT_EQ(store.events.allocation[1], 1u);
  EXPECT_EQ(store.events.allocation[2], 1u);
}

TEST(AllocationTracker, ABlockWithoutAnEventIsFromBefore) {
  const Store store = Trace().Active(0x9000, 1000, 1024, 0).Pair();
  ASSERT_EQ(store.allocations.size(), 1u);
  EXPECT_EQ(store.allocations.free_seq[0], kNone);
  EXPECT_EQ(store.allocations.block_bytes[0], 1024u);
  EXPECT_EQ(store.allocations.flags[0], kPreexisting);
  EXPECT_EQ(store.blocks.allocation[0], 0u);
}

TEST(AllocationTracker, AnAllocationAtALiveAddressEndsTheOldBlock) {
  const Store store = Trace().Alloc(0x1000, 512).Alloc(0x1000, 1024).Active(0x1000, 1024, 1024).Pair();
  ASSERT_EQ(store.allocations.size(), 2u);
  EXPECT_EQ(store.allocations.free_seq[0], 1u);
  EXPECT_EQ(store.allocations.flags[0] & kDisplaced, kDisplaced);
  EXPECT_EQ(store.allocations.free_seq[1], kNone);
  EXPECT_TRUE(Has(store, "allocated_while_live"));
}

TEST(AllocationTracker, LiveWithoutABlockIsSaid) {
  const Store store = Trace().Alloc(0x1000, 512).Pair();
  EXPECT_EQ(store.allocations.flags[0] & kGhost, kGhost);
  EXPECT_TRUE(Has(store, "live_without_block"));
}

TEST(AllocationTracker, ARequestThatNothingExplainsHasNoEffect) {
  const Store store = Trace().Add(EventKind::kFreeRequested, 0x7000, 512).Pair();
  EXPECT_EQ(store.allocations.size(), 0u);
  EXPECT_TRUE(Has(store, "free_of_unknown_block"));
}

TEST(AllocationTracker, APendingFreeCompletesLater) {
  const Store store = Trace()
                          .Alloc(0x1000, 512)
                          .Add(EventKind::kFreeRequested, 0x1000, 512)
                          .Alloc(0x2000, 512)
                          .Add(EventKind::kFreeCompleted, 0x1000, 512)
                          .Active(0x2000, 512, 512)
                          .Pair();
  EXPECT_EQ(store.allocations.free_requested_seq[0], 1u);
  EXPECT_EQ(store.allocations.free_seq[0], 3u);
}

TEST(AllocationTracker, FreeStacksExplainEarlierBlocksOnlyOnEvidence) {
  // 40 frees carry the stack of their allocation: context="alloc". Then an unmatched free tells who allocated.
  Trace enough;
  for (uint64_t i = 0; i < 40; ++i) enough.Alloc(0x1000, 512, 7).Free(0x1000, 512, 7);
  const Store told = enough.Free(0x2000, 512, 5).Pair();
  EXPECT_EQ(told.allocations.stack[40].value, 5u);
  const Store untold = Trace().Alloc(0x1000, 512, 7).Free(0x1000, 512, 7).Free(0x2000, 512, 5).Pair();
  EXPECT_EQ(untold.allocations.stack[1].value, 0u);
  EXPECT_EQ(untold.allocations.free_stack[1].value, 5u);
}

TEST(AllocationTracker, SumsStayBelowTwoToThe62) {
  Trace trace;
  for (uint64_t i = 0; i < 20; ++i) trace.Alloc(0x1000 + i, 1ULL << 60);
  const Store store = trace.Pair();
  uint64_t total = 0;
  for (uint32_t row = 0; row < store.allocations.size(); ++row) total += store.allocations.size_bytes[row];
  EXPECT_EQ(total, 4ULL << 60);
  EXPECT_TRUE(Has(store, "implausible_total"));
}

// Σ live = Σ allocations - Σ frees at every event, whatever the order of events.
TEST(AllocationTracker, LiveBytesFollowAnIndependentCount) {
  std::mt19937_64 random(20261129);
  for (int round = 0; round < 200; ++round) {
    Trace trace;
    std::map<uint64_t, uint64_t> live;
    std::vector<int64_t> curve;
    int64_t total = 0;
    int64_t before = 0;
    const auto add = [&](EventKind kind, uint64_t addr, uint64_t size_bytes) {
      trace.Add(kind, addr, size_bytes);
      if (kind == EventKind::kAlloc) {
        total += static_cast<int64_t>(size_bytes) - static_cast<int64_t>(live[addr]);
        live[addr] = size_bytes;
      } else if (kind == EventKind::kFreeCompleted) {
        if (live[addr] == 0) before += static_cast<int64_t>(size_bytes);
        total -= static_cast<int64_t>(live[addr] == 0 ? size_bytes : live[addr]);
        live[addr] = 0;
      }
      curve.push_back(total);
    };
    for (int i = 0; i < 60; ++i) {
      const uint64_t addr = 0x1000 * (1 + random() % 6);
      const auto kind = static_cast<EventKind>(random() % 3);
      add(kind, addr, live[addr] != 0 && kind != EventKind::kAlloc ? live[addr] : 1 + random() % 5000);
    }
    for (const auto& [addr, size_bytes] : live) {
      if (size_bytes != 0) trace.Active(addr, size_bytes, size_bytes);
    }
    const Store store = trace.Pair();
    const AllocationTable& table = store.allocations;
    for (uint32_t seq = 0; seq < curve.size(); ++seq) {
      int64_t sum = 0;
      for (uint32_t row = 0; row < table.size(); ++row) {
        const bool begun = table.alloc_seq[row] == kNone || table.alloc_seq[row] <= seq;
        const bool ended = table.free_seq[row] != kNone && table.free_seq[row] <= seq;
        if (begun && !ended) sum += static_cast<int64_t>(table.size_bytes[row]);
      }
      ASSERT_EQ(sum, curve[seq] + before) << "round " << round << " event " << seq;
    }
  }
}

}  // namespace
}  // namespace memstrata
