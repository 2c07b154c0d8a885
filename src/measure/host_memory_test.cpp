#include "measure/host_memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "measure/process_tree.h"

namespace memstrata::measure {
namespace {

namespace fs = std::filesystem;

class Group : public testing::Test {
 protected:
  void SetUp() override { root_ = fs::path(testing::TempDir()) / ("group-" + std::to_string(getpid())); }
  void TearDown() override { fs::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  fs::path root_;
};

TEST(HostMemory, MeminfoIsInKilobytesOf1024) {
  const MachineMemory memory = ParseMeminfo("MemTotal:       100 kB\nMemFree: 1 kB\nMemAvailable:   40 kB\n");
  EXPECT_EQ(memory.total_bytes, 102400U);
  EXPECT_EQ(memory.available_bytes, 40960U);
  EXPECT_EQ(memory.swap_total_bytes, std::nullopt);
}

TEST(HostMemory, ASumThatLacksAPartIsUnknown) {
  const std::string text = "AnonPages: 3 kB\nShmem: 4 kB\nShmemHugePages: 9 kB\nSUnreclaim: 1 kB\nKernelStack: 1 kB\n";
  EXPECT_EQ(ParseMeminfo(text).held_bytes, 7U << 10);
  EXPECT_EQ(ParseMeminfo(text).kernel_bytes, std::nullopt);
  const std::string kernel = text + "PageTables: 2 kB\nPercpu: 3 kB\n";
  EXPECT_EQ(ParseMeminfo(kernel).kernel_bytes, std::nullopt);  // what it keeps free is a part of it
  const std::string idle = "MemFree: 50 kB\nActive(file): 20 kB\nInactive(file): 10 kB\nSReclaimable: 5 kB\n";
  EXPECT_EQ(ParseMeminfo(kernel + idle + "MemAvailable: 75 kB\n").kernel_bytes, (7U + 10) << 10);
  EXPECT_EQ(ParseMeminfo(kernel + idle + "MemAvailable: 99 kB\n").kernel_bytes, 7U << 10);
}

TEST_F(Group, TheSmallestLimitOfThoseAboveHolds) {
  Write("a/b/memory.current", "100\n");
  Write("a/b/memory.max", "max\n");
  Write("a/memory.current", "300\n");
  Write("a/memory.max", "400\n");
  Write("memory.current", "900\n");
  Write("memory.max", "1000\n");
  const MemoryGroup parent(root_, "0::/a/b\n");
  EXPECT_EQ(parent.LimitBytes(), 400U);
  EXPECT_EQ(parent.UsedBytes(), 300U);  // what counts against that limit
  Write("a/b/memory.max", "200\n");
  const MemoryGroup own(root_, "0::/a/b\n");
  EXPECT_EQ(own.LimitBytes(), 200U);
  EXPECT_EQ(own.UsedBytes(), 100U);
}

TEST_F(Group, Version2ByItsOwnPath) {
  Write("a/b/memory.current", "123\n");
  Write("a/b/memory.max", "456\n");
  const MemoryGroup group(root_, "0::/a/b\n");
  EXPECT_EQ(group.version(), 2);
  EXPECT_EQ(group.UsedBytes(), 123U);
  EXPECT_EQ(group.LimitBytes(), 456U);
}

TEST_F(Group, Version2WithoutALimit) {
  Write("memory.current", "5\n");
  Write("memory.max", "max\n");
  const MemoryGroup group(root_, "0::/\n");
  EXPECT_EQ(group.UsedBytes(), 5U);
  EXPECT_EQ(group.LimitBytes(), std::nullopt);
}

TEST_F(Group, InAContainerTheOwnGroupIsAtTheMountPoint) {
  Write("memory.current", "7\n");
  const MemoryGroup group(root_, "0::/system.slice/container-1\n");
  EXPECT_EQ(group.UsedBytes(), 7U);
}

TEST_F(Group, Version1) {
  Write("memory/job/memory.usage_in_bytes", "11\n");
  Write("memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  const MemoryGroup group(root_, "5:cpu,cpuacct:/x\n4:memory:/job\n");
  EXPECT_EQ(group.version(), 1);
  EXPECT_EQ(group.UsedBytes(), 11U);
  EXPECT_EQ(group.LimitBytes(), std::nullopt);
}

TEST_F(Group, WithoutAMemoryControllerNothingIsKnown) {
  const MemoryGroup group(root_, "0::/a\n");
  EXPECT_EQ(group.version(), 0);
  EXPECT_EQ(group.UsedBytes(), std::nullopt);
}

TEST(ProcessTree, FieldsOfAStatus) {
  const auto memory = ParseProcessStatus(
      "Name:\tVmRSS: 9 kB\nVmLck:\t       4 kB\nVmPin:\t 8 kB\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nVmSwap:\t 2 "
      "kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->resident_bytes, 1U << 20);
  EXPECT_EQ(memory->highest_resident_bytes, 2U << 20);
  EXPECT_EQ(memory->locked_bytes, 4096U);
  EXPECT_EQ(memory->pinned_bytes, 8192U);
  EXPECT_EQ(memory->swapped_bytes, 2048U);
  EXPECT_FALSE(ParseProcessStatus("Name:\tkthreadd\nState:\tS\n"));
  EXPECT_FALSE(ParseProcessStatus("VmRSS:\tmany kB\n"));
}

TEST(ProcessTree, SharedPagesByTheirPart) {
  const auto memory = ParseSmapsRollup(
      "55d0-7ff [rollup]\nRss: 900 kB\nPss: 400 kB\nPss_Dirty: 9 kB\nPss_Anon: 100 kB\nPss_File: 250 kB\nPss_Shmem: 50 "
      "kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->resident_bytes, 400U << 10);
  EXPECT_EQ(memory->held_bytes, 150U << 10);
  EXPECT_FALSE(ParseSmapsRollup(""));
}

TEST(ProcessTree, WhetherAProcessHadChildren) {
  const auto had_children = [](void (*act)()) {
    const pid_t child = fork();
    if (child == 0) {
      act();
      _exit(0);
    }
    siginfo_t ended{};
    waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
    const bool answer = HadChildren(child);
    waitpid(child, nullptr, 0);
    return answer;
  };
  EXPECT_FALSE(had_children([] {}));
  EXPECT_TRUE(had_children([] {
    const pid_t grandchild = fork();
    if (grandchild == 0) _exit(0);
    waitpid(grandchild, nullptr, 0);
  }));
  EXPECT_TRUE(had_children([] { std::signal(SIGCHLD, SIG_IGN); }));  // its children would leave no trace
}

TEST(ProcessTree, OwnMemoryIsThere) {
  const auto memory = ReadProcessMemory(getpid());
  ASSERT_TRUE(memory);
  EXPECT_GT(memory->resident_bytes, 0U);
  EXPECT_GE(memory->highest_resident_bytes, memory->resident_bytes);
}

}  // namespace
}  // namespace memstrata::measure
