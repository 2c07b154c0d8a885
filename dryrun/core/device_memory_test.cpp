#include "core/device_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "core/settings.h"

namespace memstrata::device {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kCapacityBytes = 1024 * kMiB;
constexpr uint64_t kContextBytes = 100 * kMiB;

// Settings are read once per process, so all tests share one card.
class DeviceMemoryTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string path = testing::TempDir() + "/memstrata_device_settings";
    std::ofstream(path) << "device_count 2\ncapacity_bytes " << kCapacityBytes << "\ncontext_bytes " << kContextBytes
                        << "\n";
    setenv("MEMSTRATA_DRYRUN_SETTINGS", path.c_str(), 1);
    ASSERT_EQ(ProcessSettings().capacity_bytes, kCapacityBytes);
  }
  DeviceMemory memory_;
};

TEST_F(DeviceMemoryTest, ChargesPagesAndRefusesWhatIsLeft) {
  const uintptr_t address = memory_.Allocate(0, 3 * kMiB);
  ASSERT_NE(address, 0u);
  EXPECT_EQ(memory_.UsageOf(0).used_bytes, 4 * kMiB);
  EXPECT_EQ(memory_.FreeBytes(0), kCapacityBytes - kContextBytes - 4 * kMiB);
  EXPECT_EQ(memory_.Allocate(0, kCapacityBytes), 0u);
  EXPECT_EQ(memory_.UsageOf(0).refused_count, 1u);
  EXPECT_NE(memory_.Allocate(0, memory_.FreeBytes(0)), 0u);
  EXPECT_EQ(memory_.FreeBytes(0), 0u);
  EXPECT_EQ(memory_.FreeBytes(1), kCapacityBytes - kContextBytes);
}

TEST_F(DeviceMemoryTest, FindsAnyAddressInsideAndNoneOutside) {
  const uintptr_t address = memory_.Allocate(1, 4 * kMiB);
  ASSERT_TRUE(memory_.Find(address + 4 * kMiB - 1));
  EXPECT_EQ(memory_.Find(address + kMiB)->device, 1);
  EXPECT_FALSE(memory_.Find(address + 4 * kMiB));
  EXPECT_TRUE(memory_.Free(address));
  EXPECT_FALSE(memory_.Find(address));
  EXPECT_FALSE(memory_.Free(address));
}

TEST_F(DeviceMemoryTest, ReservedAddressesCostNothingUntilCharged) {
  const uintptr_t address = memory_.Reserve(kCapacityBytes * 2);
  ASSERT_NE(address, 0u);
  EXPECT_EQ(memory_.UsageOf(0).used_bytes, 0u);
  EXPECT_TRUE(memory_.Charge(0, 2 * kMiB));
  EXPECT_FALSE(memory_.Charge(0, kCapacityBytes));
  memory_.Discharge(0, 2 * kMiB);
  EXPECT_EQ(memory_.UsageOf(0).used_bytes, 0u);
  EXPECT_TRUE(memory_.Unreserve(address));
  EXPECT_FALSE(memory_.Find(address));
}

// Random allocations and frees against a list that is searched in full.
TEST_F(DeviceMemoryTest, AllocationsNeverOverlapAndTheSumIsKept) {
  struct Block {
    uintptr_t address;
    uint64_t size_bytes, charged_bytes;
  };
  std::mt19937 random(7);
  std::vector<Block> live;
  uint64_t used = 0, peak = 0;
  for (int round = 0; round < 5000; ++round) {
    if (!live.empty() && random() % 2 == 0) {
      const size_t index = random() % live.size();
      ASSERT_TRUE(memory_.Free(live[index].address));
      used -= live[index].charged_bytes;
      live.erase(live.begin() + static_cast<ptrdiff_t>(index));
    } else {
      const uint64_t size = 1 + random() % (random() % 2 == 0 ? 60 * kMiB : kMiB);
      const uint64_t step = size < kMiB ? 512 : 2 * kMiB;
      const uint64_t charged = (size + step - 1) / step * step;
      const bool should_fit = used + charged <= kCapacityBytes - kContextBytes;
      const uintptr_t address = memory_.Allocate(0, size);
      ASSERT_EQ(address != 0, should_fit);
      if (address == 0) continue;
      for (const Block& block : live)
        ASSERT_TRUE(address + size <= block.address || block.address + block.size_bytes <= address);
      live.push_back({address, size, charged});
      used += charged;
      peak = std::max(peak, used);
    }
    ASSERT_EQ(memory_.UsageOf(0).used_bytes, used);
  }
  EXPECT_EQ(memory_.UsageOf(0).peak_bytes, peak);
}

}  // namespace
}  // namespace memstrata::device
