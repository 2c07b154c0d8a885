#include "index/heap_index.h"

#include <gtest/gtest.h>

#include "index/test_heap.h"

namespace memstrata {
namespace {

TEST(HeapIndex, ThePeakThroughTheExtremesIsThatOfTheCurve) {
  const auto expect_same = [](uint64_t begin_bytes, std::initializer_list<uint64_t> after) {
    Curve curve;
    curve.begin_bytes = begin_bytes;
    for (const uint64_t bytes : after) curve.after_bytes.PushBack(bytes);
    const Peak expected = FindPeak(curve);
    const Peak found = PeakOf(IndexedCurve(std::move(curve)));
    EXPECT_EQ(found.bytes, expected.bytes);
    EXPECT_EQ(found.moment.seq(), expected.moment.seq());
  };
  expect_same(5, {7, 9, 3, 9});  // the first of equal ones
  expect_same(9, {7, 9});        // before the first event
  expect_same(4, {});
  expect_same(0, {0});
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const Store store = TestHeapMaker({.seed = seed, .event_count = 1 + 97 * seed}).Make();
    HeapIndex index(store, store.heaps[0]);
    const Peak expected = FindPeak(index.Live().curve);
    EXPECT_EQ(index.LivePeak().bytes, expected.bytes) << seed;
    EXPECT_EQ(index.LivePeak().moment.seq(), expected.moment.seq()) << seed;
  }
}

TEST(HeapIndex, ThereIsACurveOfWaitingBlocksOnlyWhereItIsNotZero) {
  uint32_t with_count = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    const Store store = TestHeapMaker({.seed = seed, .event_count = 4 + seed % 12}).Make();
    HeapIndex index(store, store.heaps[0]);
    const Curve expected = BuildPendingCurve(store, store.heaps[0]);
    const auto values = expected.after_bytes.span();
    const bool is_zero = std::all_of(values.begin(), values.end(), [](uint64_t bytes) { return bytes == 0; });
    const IndexedCurve* pending = index.Pending();
    EXPECT_EQ(pending == nullptr, is_zero) << seed;
    if (pending == nullptr) continue;
    ++with_count;
    EXPECT_TRUE(std::equal(values.begin(), values.end(), pending->curve.after_bytes.span().begin())) << seed;
  }
  EXPECT_GT(with_count, 0U);
  EXPECT_LT(with_count, 60U);
}

}  // namespace
}  // namespace memstrata
