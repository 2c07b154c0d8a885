#include "index/heap_state.h"

#include <gtest/gtest.h>

#include "index/heap_index.h"
#include "index/test_heap.h"

namespace memstrata {
namespace {

constexpr uint64_t kSegmentBase = 0x7f0000000000;

// Adds one segment of the large pool, reserved from before the recording.
void ReserveLarge(Store& store, Heap& heap, uint64_t size_bytes) {
  SegmentTable& table = store.segments;
  table.addr.PushBack(kSegmentBase);
  table.size_bytes.PushBack(size_bytes);
  table.kind.PushBack(SegmentKind::kLarge);
  table.begin_seq.PushBack(kNone);
  table.end_seq.PushBack(kNone);
  table.stream.PushBack(0);
  table.pool.PushBack(kNone);
  table.stack.PushBack({0});
  heap.segments = {0, 1};
}

// One segment over all addresses of the heap.
void ReserveAll(Store& store) {
  uint64_t end = 0;
  for (uint32_t row = 0; row < store.allocations.size(); ++row)
    end = std::max(end, store.allocations.addr[row] + store.allocations.block_bytes[row]);
  ReserveLarge(store, store.heaps[0], end - kSegmentBase + 4096);
}

TEST(HeapState, BlocksAndHolesTileEverySegmentAtEveryMoment) {
  for (uint32_t seed = 1; seed < 6; ++seed) {
    Store store = MakeTestHeap({.seed = seed});
    ReserveAll(store);
    HeapIndex index(store, store.heaps[0]);
    for (uint32_t seq = 0; seq < store.heaps[0].events.size(); seq += 13) {
      const Moment at = Moment::AfterEvent(seq);
      const HeapState state = StateAt(store, store.heaps[0], at);
      uint64_t requested_bytes = 0;
      for (const StateSegment& segment : state.segments) {
        std::vector<std::pair<uint64_t, uint64_t>> pieces;
        for (uint32_t i = segment.block_begin; i < segment.block_end; ++i) {
          pieces.push_back({state.blocks[i].offset_bytes, state.blocks[i].size_bytes});
          requested_bytes += store.allocations.size_bytes[state.blocks[i].allocation];
        }
        for (uint32_t i = segment.hole_begin; i < segment.hole_end; ++i)
          pieces.push_back({state.holes[i].offset_bytes, state.holes[i].size_bytes});
        std::sort(pieces.begin(), pieces.end());
        uint64_t at_bytes = 0;
        for (const auto& [offset_bytes, size_bytes] : pieces) {
          ASSERT_EQ(offset_bytes, at_bytes);
          at_bytes += size_bytes;
        }
        ASSERT_EQ(at_bytes, segment.size_bytes);
      }
      ASSERT_EQ(requested_bytes, index.Live().curve.At(at)) << seq;
      ASSERT_EQ(state.idle_bytes,
                state.kind_bytes[0] + state.kind_bytes[1] + state.kind_bytes[2] + state.kind_bytes[3]);
      ASSERT_EQ(state.outside_count, 0U);
    }
  }
}

TEST(HeapState, WithoutSegmentsNeighbouringBlocksStandIn) {
  const Store store = MakeTestHeap({.seed = 3});
  const HeapState state = StateAt(store, store.heaps[0], Moment::End(store.heaps[0]));
  EXPECT_TRUE(state.segments_guessed);
  EXPECT_TRUE(state.is_approximate);
  EXPECT_FALSE(state.segments.empty());
  EXPECT_EQ(state.outside_count, 0U);
}

TEST(HeapState, CountsBlocksWhoseSegmentIsMissing) {
  Store store = MakeTestHeap({.seed = 3});
  ReserveAll(store);
  store.segments.size_bytes[0] = 512;
  const HeapState state = StateAt(store, store.heaps[0], Moment::End(store.heaps[0]));
  EXPECT_GT(state.outside_count, 0U);
  EXPECT_GT(state.outside_bytes, 0U);
}

// A heap in one large segment of 20 MiB whose blocks are placed by hand.
class RestsTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kMib = uint64_t{1} << 20;

  void Add(uint64_t offset_bytes, uint64_t size_bytes, uint32_t alloc_seq, uint32_t free_seq) {
    AllocationTable& table = store_.allocations;
    table.addr.PushBack(kSegmentBase + offset_bytes);
    table.size_bytes.PushBack(size_bytes);
    table.block_bytes.PushBack(size_bytes);
    table.alloc_seq.PushBack(alloc_seq);
    table.free_requested_seq.PushBack(free_seq);
    table.free_seq.PushBack(free_seq);
    table.stack.PushBack({0});
    table.free_stack.PushBack({0});
    table.stream.PushBack(0);
    table.pool.PushBack(kNone);
    table.flags.PushBack(kBlockApproximate);
    heap_.allocations.end = static_cast<uint32_t>(table.size());
  }

  HeapState After(uint32_t seq) {
    ReserveLarge(store_, heap_, 20 * kMib);
    store_.streams.push_back(0);
    for (uint32_t event = 0; event <= seq; ++event) {
      store_.events.kind.PushBack(EventKind::kAlloc);
      store_.events.stream.PushBack(0);
    }
    heap_.events = {0, seq + 1};
    return StateAt(store_, heap_, Moment::AfterEvent(seq));
  }

  Store store_;
  Heap heap_;
};

TEST_F(RestsTest, AGapThatNothingEverLayInBelongsToTheBlockBeforeIt) {
  Add(0, 4 * kMib, 0, kNone);
  Add(4 * kMib, 15 * kMib + kMib / 2, 1, kNone);  // half a MiB of the segment is left: not split off
  const HeapState state = After(1);
  EXPECT_EQ(state.idle_bytes, 0U);
  EXPECT_TRUE(state.holes.empty());
  EXPECT_EQ(state.rounding_bytes, kMib / 2);
}

TEST_F(RestsTest, AGapThatHeldAnotherBlockIsAHole) {
  Add(0, 4 * kMib, 0, kNone);
  Add(4 * kMib, kMib, 1, 3);  // freed at the moment
  Add(5 * kMib, 15 * kMib, 2, kNone);
  const HeapState state = After(3);
  EXPECT_EQ(state.idle_bytes, kMib);
  ASSERT_EQ(state.holes.size(), 1U);
}

TEST_F(RestsTest, AGapOfMoreThanAMebibyteIsSplitOff) {
  Add(0, 18 * kMib, 0, kNone);
  const HeapState state = After(0);
  EXPECT_EQ(state.idle_bytes, 2 * kMib);
}

}  // namespace
}  // namespace memstrata
