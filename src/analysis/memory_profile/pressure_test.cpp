#include "analysis/memory_profile/pressure.h"

#include "analysis/test_profile.h"

namespace memstrata {
namespace {

TEST(HeapPressureTest, NamesTheLargestBlocksAndWhatIsTemporary) {
  SmallProfile profile;
  profile.Event(EventKind::kAlloc, 1, 0, 0x10000, 1000, 1024);
  profile.Event(EventKind::kAlloc, 2, 0, 0x20000, 4096, 4096, "temp");
  profile.Event(EventKind::kAlloc, 3, 0, 0x30000, 2000, 2048, "temp");
  profile.Event(EventKind::kAlloc, 4, 0, 0x40000, 256, 256);
  profile.Event(EventKind::kFreeCompleted, 5, 0, 0x20000, 4096, 4096);
  const Heap& heap = profile.Pair();
  const HeapPressure highest = PressureAt(profile.store(), heap, 3);
  ASSERT_EQ(highest.largest, (std::vector<uint32_t>{1, 2, 0}));
  EXPECT_EQ(highest.largest_bytes, 4096u + 2048 + 1024);
  EXPECT_EQ(highest.rounding_bytes, 24u + 48);
  EXPECT_EQ(highest.temporary_bytes, 4096u + 2048);
  EXPECT_EQ(highest.temporary_count, 2u);
  const HeapPressure end = PressureAt(profile.store(), heap, 4);
  EXPECT_EQ(end.temporary_count, 1u);
  EXPECT_EQ(end.largest, (std::vector<uint32_t>{2, 0, 3}));
}

TEST(HeapPressureTest, FindsTheLargestHoleBetweenBlocks) {
  SmallProfile profile;
  profile.Event(EventKind::kAlloc, 1, 0, 0x1000, 0x1000, 0x1000);
  profile.Event(EventKind::kAlloc, 2, 0, 0x4000, 0x1000, 0x1000);  // 0x2000 free before it
  profile.Event(EventKind::kAlloc, 3, 0, 0x8000, 0x1000, 0x1000);  // 0x3000 free before it
  profile.Event(EventKind::kFreeCompleted, 4, 0, 0x8000, 0x1000, 0x1000);
  const Heap& heap = profile.Pair();
  EXPECT_EQ(PressureAt(profile.store(), heap, 1).largest_hole_bytes, 0x4000u);  // up to the highest address named
  EXPECT_EQ(PressureAt(profile.store(), heap, 2).largest_hole_bytes, 0x3000u);
  EXPECT_EQ(PressureAt(profile.store(), heap, 3).largest_hole_bytes, 0x4000u);
  EXPECT_EQ(PressureAt(profile.store(), heap, 2).unplaced_bytes, 0u);
}

TEST(HeapPressureTest, SaysWhatIsLiveWithoutAnAddress) {
  SmallProfile profile;
  profile.set_heap_bytes(5000);  // from before the recording
  profile.Event(EventKind::kAlloc, 1, 0, 0x1000, 256, 256);
  const HeapPressure pressure = PressureAt(profile.store(), profile.Pair(), 0);
  EXPECT_EQ(pressure.unplaced_bytes, 5000u);
  EXPECT_EQ(pressure.largest_hole_bytes, 0u);
}

}  // namespace
}  // namespace memstrata
