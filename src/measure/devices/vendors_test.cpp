#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "measure/devices/amd_smi.h"
#include "measure/devices/nvml.h"
#include "measure/devices/vendor.h"

namespace memstrata::measure {
namespace {

namespace fs = std::filesystem;

class Vendors : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("vendors-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    setenv("FAKE_DEVICES", (folder_ / "devices").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("FAKE_DEVICES");
    fs::remove_all(folder_);
  }
  void Say(const std::string& text) const { std::ofstream(folder_ / "devices") << text; }

  fs::path folder_;
};

TEST_F(Vendors, NvidiaUsedHoldsWhatTheDriverReserves) {
  Say("device 1000 100 300 Card\nprocess 0 41 200\nprocess 0 42 -\n");
  const auto devices = OpenNvml(FAKE_NVML);
  ASSERT_TRUE(devices) << devices.error().message;
  ASSERT_EQ((*devices)->facts().size(), 1U);
  const DeviceFacts& facts = (*devices)->facts()[0];
  EXPECT_EQ(facts.name, "Card");
  EXPECT_EQ(facts.uuid, "GPU-fake-1");
  EXPECT_EQ(facts.total_bytes, 1000U);
  EXPECT_EQ(facts.reserved_bytes, 100U);
  EXPECT_FALSE(facts.is_partition);
  EXPECT_EQ((*devices)->facts()[0].driver_version, "999.1");
  const std::optional<DeviceReading> reading = (*devices)->Read(0);
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->used_bytes, 400U);
  EXPECT_EQ(reading->free_bytes, 600U);
  ASSERT_TRUE(reading->processes);
  ASSERT_EQ(reading->processes->size(), 2U);  // though each is on both lists
  EXPECT_EQ((*reading->processes)[0].used_bytes, 200U);
  EXPECT_EQ((*reading->processes)[1].process_id, 42);
  EXPECT_EQ((*reading->processes)[1].used_bytes, std::nullopt);
}

TEST_F(Vendors, MoreProcessesThanTheFirstBufferHolds) {
  std::string text = "device 1000 0 1 Card\n";
  for (int i = 1; i <= 200; ++i) text += "process 0 " + std::to_string(i) + " 1\n";
  Say(text);
  const auto devices = OpenNvml(FAKE_NVML);
  ASSERT_TRUE(devices);
  EXPECT_EQ((*devices)->Read(0)->processes->size(), 200U);
}

TEST_F(Vendors, APartitionedCardIsItsInstances) {
  Say("device 1000 0 0 Card\nmig 0 400 40\nmig 0 500 50\ndevice 2000 0 7 Whole\n");
  const auto devices = OpenNvml(FAKE_NVML);
  ASSERT_TRUE(devices);
  ASSERT_EQ((*devices)->facts().size(), 3U);
  EXPECT_TRUE((*devices)->facts()[0].is_partition);
  EXPECT_EQ((*devices)->facts()[1].total_bytes, 500U);
  EXPECT_EQ((*devices)->Read(1)->used_bytes, 50U);
  EXPECT_FALSE((*devices)->facts()[2].is_partition);
  EXPECT_EQ((*devices)->LinkBetween(0, 2), "one NUMA node");
}

TEST_F(Vendors, ALostDeviceHasNoReading) {
  Say("device 1000 0 1 Card\n");
  const auto devices = OpenNvml(FAKE_NVML);
  ASSERT_TRUE(devices);
  Say("device 1000 0 1 Card\nbroken 0\n");
  EXPECT_FALSE((*devices)->Read(0).has_value());
}

TEST_F(Vendors, OnlyADeviceWithoutFiguresOfItsOwnSharesTheHostsMemory) {
  Say("device 0 0 0 Card\nunified 0\ndevice 1000 0 1 Card\nbroken 1\n");
  const auto devices = OpenNvml(FAKE_NVML);
  ASSERT_TRUE(devices);
  EXPECT_TRUE((*devices)->facts()[0].is_unified);
  EXPECT_FALSE((*devices)->facts()[1].is_unified);
  for (const DeviceFacts& facts : (*devices)->facts()) EXPECT_EQ(facts.total_bytes, std::nullopt);
}

TEST_F(Vendors, ACardWhoseMemoryIsANodeOfTheHost) {
  Say("device 1000 0 1 Card\nnode 0\ndevice 1000 0 1 Card\n");
  const auto devices = OpenNvml(FAKE_NVML);
  ASSERT_TRUE(devices);
  EXPECT_TRUE((*devices)->facts()[0].is_host_node);
  EXPECT_FALSE((*devices)->facts()[1].is_host_node);
}

TEST_F(Vendors, ALibraryThatIsNotThereOrFailsSaysSo) {
  const auto absent = OpenNvml("libmemstrata-no-such-library.so");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  setenv("FAKE_NVML_FAILS", "1", 1);
  const auto failing = OpenNvml(FAKE_NVML);
  unsetenv("FAKE_NVML_FAILS");
  ASSERT_FALSE(failing);
  EXPECT_NE(failing.error().message.find("Driver Not Loaded"), std::string::npos);
  EXPECT_FALSE(OpenNvml(FAKE_AMD_SMI)) << "another library under that name";
}

TEST_F(Vendors, AmdCards) {
  Say("device 1000 0 300 Card\ndevice 2000 0 5 Card\n");
  const auto devices = OpenAmdSmi(FAKE_AMD_SMI);
  ASSERT_TRUE(devices) << devices.error().message;
  ASSERT_EQ((*devices)->facts().size(), 2U);
  EXPECT_EQ((*devices)->facts()[0].total_bytes, 1000U);
  EXPECT_EQ((*devices)->facts()[1].pci_bus_id, "0000:02:00.0");
  EXPECT_EQ((*devices)->Read(0)->used_bytes, 300U);
  EXPECT_EQ((*devices)->Read(0)->free_bytes, 700U);
}

TEST_F(Vendors, NameAndDriverOfAnAmdCardStandInTheKernelsFolders) {
  const auto write = [this](const std::string& path, const std::string& text) {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  };
  DeviceFacts facts;
  facts.pci_bus_id = "0000:c1:00.0";
  AddKernelFacts(folder_.string(), "simd_count 880\ngfx_target_version 90402\ncpu_cores_count 0\n", facts);
  EXPECT_EQ(facts.name, "gfx942");
  EXPECT_FALSE(facts.driver_version.empty());
  EXPECT_FALSE(facts.is_unified);
  write("module/amdgpu/version", "6.10.5\n");
  write("bus/pci/devices/0000:c1:00.0/product_name", "Card of the tests\n");
  AddKernelFacts(folder_.string(), "simd_count 8\ncpu_cores_count 16\ngfx_target_version 90010\n", facts);
  EXPECT_EQ(facts.name, "Card of the tests");
  EXPECT_EQ(facts.driver_version, "6.10.5");
  EXPECT_TRUE(facts.is_unified);
  facts.pci_bus_id = "0000:c2:00.0";
  AddKernelFacts(folder_.string(), "gfx_target_version 90010\n", facts);
  EXPECT_EQ(facts.name, "gfx90a");
  AddKernelFacts(folder_.string(), "", facts);
  EXPECT_EQ(facts.name, "");
}

TEST_F(Vendors, HowAmdCardsReachEachOtherStandsInTheKernelsFolder) {
  const auto write = [this](const std::string& link, const std::string& text) {
    fs::create_directories(folder_ / "nodes" / link);
    std::ofstream(folder_ / "nodes" / link / "properties") << text;
  };
  write("1/io_links/0", "type 2\nversion_major 0\nnode_from 1\nnode_to 0\n");
  write("1/io_links/1", "type 11\nnode_from 1\nnode_to 2\nweight 15\n");
  write("1/io_links/2", "type 4\nnode_to 3\n");
  const std::string nodes = (folder_ / "nodes").string();
  EXPECT_EQ(ReadKfdLink(nodes, 1, 0), "PCIe");
  EXPECT_EQ(ReadKfdLink(nodes, 1, 2), "XGMI");
  EXPECT_EQ(ReadKfdLink(nodes, 1, 3), "a link of type 4");
  EXPECT_EQ(ReadKfdLink(nodes, 1, 9), "");
  EXPECT_EQ(ReadKfdLink(nodes, 7, 1), "");
}

TEST_F(Vendors, WhoUsesAnAmdCardStandsInTheKernelsFolder) {
  const auto write = [this](const std::string& process, const std::string& file, const std::string& text) {
    fs::create_directories(folder_ / "proc" / process);
    std::ofstream(folder_ / "proc" / process / file) << text;
  };
  write("77", "vram_5", "4096\n");
  write("12", "vram_5", "8192\n");
  write("99", "vram_6", "1\n");
  write("13", "vram_5", "0\n");
  const auto users = ReadKfdProcesses((folder_ / "proc").string(), 5);
  ASSERT_TRUE(users);
  ASSERT_EQ(users->size(), 2U);
  EXPECT_EQ((*users)[0].process_id, 12);
  EXPECT_EQ((*users)[1].used_bytes, 4096U);
  EXPECT_FALSE(ReadKfdProcesses((folder_ / "none").string(), 5).has_value());
}

}  // namespace
}  // namespace memstrata::measure
