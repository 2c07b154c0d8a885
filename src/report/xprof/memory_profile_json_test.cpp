// XProf's own unit test of its converter, and what the two ways of computing the profile disagree about.

#include "report/xprof/memory_profile_json.h"

#include <gtest/gtest.h>

#include "analysis/memory_profile/profile.h"
#include "readers/reader.h"
#include "readers/xla/testing/xspace_builder.h"

namespace memstrata {
namespace {

using namespace xla::testing;

Store Read(std::string bytes) {
  Result<Store> store = OpenBytes("host0.xplane.pb", std::move(bytes),
                                  {.format = "", .context = {.limits = DefaultReadLimits(), .progress = {}}});
  EXPECT_TRUE(store) << store.error().message;
  return *std::move(store);
}

std::vector<StatValue> Stats(int64_t heap, int64_t free, int64_t peak, int64_t requested, int64_t size, int64_t addr,
                             std::vector<StatValue> more) {
  std::vector<StatValue> stats = {Text("allocator_name", "GPU_0_bfc"), Signed("bytes_reserved", 2000),
                                  Signed("bytes_allocated", heap),     Signed("bytes_available", free),
                                  Signed("peak_bytes_in_use", peak),   Signed("requested_bytes", requested),
                                  Signed("allocation_bytes", size),    Signed("addr", addr)};
  stats.insert(stats.end(), more.begin(), more.end());
  return stats;
}

std::string UnitTestBytes() {
  PlaneBuilder plane("/host:CPU");
  plane.Line("t", 0)
      .Event("MemoryAllocation", 40000,
             Stats(3000, 5000, 8500, 200, 256, 222333,
                   {Signed("data_type", 1), Text("tf_op", "foo/bar"), Text("region_type", "output"),
                    Text("shape", "[3, 3, 512, 512]")}))
      .Event("MemoryDeallocation", 50000, Stats(2744, 5256, 8500, 200, 256, 222333, {Signed("data_type", 0)}))
      .Event("MemoryAllocation", 70000,
             Stats(5000, 3000, 9500, 300, 300, 345678,
                   {Signed("data_type", 9), Text("tf_op", "mul_grad/Sum"), Text("region_type", "temp"),
                    Text("shape", "[1, 2]")}));
  return SpaceBytes({plane.Bytes()});
}

TEST(MemoryProfileJsonTest, ComputesWhatXProfsUnitTestExpects) {
  const Store store = Read(UnitTestBytes());
  const Profile profile = XProfProfile(store, 0);
  ASSERT_EQ(profile.allocators.size(), 1u);
  const ProfileAllocator& allocator = profile.allocators[0];
  EXPECT_EQ(allocator.lifetime_peak_bytes, 9500u);
  EXPECT_EQ(allocator.peak_used_bytes, 7000u);
  EXPECT_EQ(allocator.peak_time_ps, 70000);
  EXPECT_EQ(allocator.capacity_bytes, 10000u);
  EXPECT_EQ(allocator.sampled.size(), 3u);
  ASSERT_EQ(allocator.rows.size(), 3u);
  ASSERT_EQ(allocator.remainders.size(), 2u);
  EXPECT_EQ(allocator.remainders[0].bytes, 4700);
  EXPECT_EQ(allocator.remainders[1].name, "stack");
  EXPECT_EQ(allocator.remainders[1].bytes, 2000);
  EXPECT_EQ(allocator.rows[2].snapshot, 0u);
  const ProfileView view(store, true);
  EXPECT_EQ(view.Op(allocator.sampled[1].label_row), "foo/bar");
  EXPECT_EQ(view.DataType(allocator.sampled[1].label_row), "float");
}

TEST(MemoryProfileJsonTest, CorrectRowsAddUpToThePeak) {
  const Store store = Read(UnitTestBytes());
  const ProfileAllocator allocator = CorrectAllocator(store, 0);
  const ProfileView view(store, false);
  int64_t sum = 0;
  for (const ProfileRow& row : allocator.rows) {
    sum += row.remainder != kNone ? allocator.remainders[row.remainder].bytes
                                  : static_cast<int64_t>(view.SizeBytes(allocator.kept[row.snapshot].row) * row.count);
  }
  EXPECT_EQ(sum, static_cast<int64_t>(allocator.peak_used_bytes));
  EXPECT_EQ(allocator.remainders[0].name, kBeforeRecordingName);
  // 5,000 at the peak, of which one event is missing (2,744 + 300 is not 5,000) and 2,744 lived before.
  EXPECT_EQ(allocator.remainders[0].bytes, 2744);
  EXPECT_EQ(allocator.remainders[2].name, kNotRecordedName);
  EXPECT_EQ(allocator.remainders[2].bytes, 1956);
}

TEST(MemoryProfileJsonTest, SamplesTheHighestOfEachBox) {
  PlaneBuilder plane("/host:CPU");
  plane.Line("t", 0);
  for (int64_t i = 0; i < 1500; ++i) {
    plane.Event(i % 2 == 0 ? "MemoryAllocation" : "MemoryDeallocation", i * 1000,
                MemoryStats("cpu", i % 2 == 0 ? 64 : 0, 0, 64, 64, 1));
  }
  const Store store = Read(SpaceBytes({plane.Bytes()}));
  const Profile xprof = XProfProfile(store, 0);
  EXPECT_EQ(xprof.allocators[0].sampled.size(), 1000u);
  const Profile correct = CorrectProfile(store, 0);
  EXPECT_EQ(correct.allocators[0].allocation_count, 750u);
  EXPECT_EQ(correct.allocators[0].free_count, 750u);
  // 1,500 events are 500 boxes of one event and 500 of two; of two the allocation is higher.
  size_t allocations = 0;
  for (const ProfileSnapshot& snapshot : xprof.allocators[0].sampled)
    allocations += store.events.kind[snapshot.row] == EventKind::kAlloc;
  EXPECT_EQ(allocations, 750u);
}

TEST(MemoryProfileJsonTest, TakesTheMaximumAsLifetimePeak) {
  PlaneBuilder plane("/host:CPU");
  plane.Line("a", 0).Event("MemoryAllocation", 100, MemoryStats("GPU_0_bfc", 512, 0, 900, 256, 2));
  plane.Line("b", 0).Event("MemoryAllocation", 50, MemoryStats("GPU_0_bfc", 256, 0, 300, 256, 1));
  const Store store = Read(SpaceBytes({plane.Bytes()}));
  EXPECT_EQ(XProfProfile(store, 0).allocators[0].lifetime_peak_bytes, 300u);
  EXPECT_EQ(CorrectAllocator(store, 0).lifetime_peak_bytes, 900u);
}

TEST(MemoryProfileJsonTest, WritesProtobufJson) {
  StringSink sink;
  const Store store = Read(UnitTestBytes());
  ASSERT_TRUE(WriteXProfMemoryProfile(store, 0, true, sink));
  EXPECT_NE(sink.text().find("\"peakBytesUsageLifetime\":\"9500\""), std::string::npos);
  EXPECT_NE(sink.text().find("\"numHosts\":1,\"memoryIds\":[\"GPU_0_bfc\"],\"version\":1"), std::string::npos);
  StringSink nothing;
  const Store device = Read(SpaceBytes({PlaneBuilder("/device:GPU:0").Bytes()}));
  ASSERT_TRUE(WriteXProfMemoryProfile(device, 0, true, nothing));
  EXPECT_EQ(nothing.text(), "");
}

}  // namespace
}  // namespace memstrata
