#include "index/heap_state.h"

#include <gtest/gtest.h>

#include "index/heap_index.h"
#include "index/test_heap.h"

namespace memstrata {
namespace {

// Adds one segment over all addresses of the heap, reserved from before the recording.
void ReserveAll(Store& store) {
  uint64_t end = 0;
  for (uint32_t row = 0; row < store.allocations.size(); ++row)
    end = std::max(end, store.allocations.addr[row] + store.allocations.block_bytes[row]);
  SegmentTable& table = store.segments;
  table.addr.PushBack(0x7f0000000000);
  table.size_bytes.PushBack(end - 0x7f0000000000 + 4096);
  table.kind.PushBack(SegmentKind::kLarge);
  table.begin_seq.PushBack(kNone);
  table.end_seq.PushBack(kNone);
  table.stream.PushBack(0);
  table.pool.PushBack(kNone);
  table.stack.PushBack({0});
  store.heaps[0].segments = {0, 1};
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

}  // namespace
}  // namespace memstrata
