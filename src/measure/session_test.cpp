#include "measure/session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "measure/gaps.h"
#include "measure/peaks.h"
#include "measure/run_log.h"

namespace memstrata::measure {
namespace {

namespace fs = std::filesystem;

class SessionFolder : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("session-" + std::to_string(getpid()) + ".memstrata");
    fs::create_directories(folder_ / "processes");
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::unique_ptr<RunLog> Log() const { return *RunLog::Create((folder_ / kRunLogName).string()); }
  MeasuredSession Read() const { return *ReadSession(folder_.string()); }

  fs::path folder_;
};

TEST_F(SessionFolder, WhatTheLogWritesIsRead) {
  {
    const auto log = Log();
    log->Rate(12.5);
    log->Machine(1000, std::nullopt);
    log->Device({"nvidia", "A\tname", "GPU-1", "", "1.2", 4096, std::nullopt, true, false});
    log->Command({"sh", "-c", "echo 'a\nb'"}, false);
    log->Command({"load"}, true);
    log->Sample(DeviceSample{-5, 0, 10, 20, std::vector<ProcessUse>{{7, 3}, {8, std::nullopt}}});
    log->Sample(DeviceSample{6, 0, 11, 19, std::nullopt});
    log->Sample(HostSample{1, 2, 3, 4, 5, 6, 7, std::nullopt, 9, 10, std::nullopt, 12, 13});
    log->Member(42);
    log->Missing({"what", "why", "how"});
    log->CommandEnd(0, {{}, true, 137, true, 99, 123, true, false, false, 5'000'000'000, 4096, std::nullopt});
    log->CommandEnd(1, {{}, true, 0, false, 99, std::nullopt, false, true, true});
    log->End(3, -4, 5);
  }
  const MeasuredSession session = Read();
  EXPECT_EQ(session.bad_line_count, 0U);
  EXPECT_EQ(session.sample_rate_hz, 12.5);
  EXPECT_EQ(session.machine_bytes, 1000U);
  ASSERT_EQ(session.devices.size(), 1U);
  EXPECT_EQ(session.devices[0].name, "A\tname");
  EXPECT_TRUE(session.devices[0].is_partition);
  EXPECT_EQ(session.devices[0].reserved_bytes, std::nullopt);
  EXPECT_EQ(session.devices[0].driver_version, "1.2");
  ASSERT_EQ(session.device_samples.size(), 2U);
  EXPECT_EQ(session.device_samples[0].time_ns, -5);
  ASSERT_EQ(session.device_samples[0].processes->size(), 2U);
  EXPECT_EQ((*session.device_samples[0].processes)[1].used_bytes, std::nullopt);
  EXPECT_FALSE(session.device_samples[1].processes);
  EXPECT_EQ(session.host_samples[0].pinned_bytes, 7U);
  EXPECT_EQ(session.host_samples[0].group_bytes, 9U);
  EXPECT_EQ(session.host_samples[0].proportional_bytes, 10U);
  EXPECT_EQ(session.host_samples[0].held_bytes, std::nullopt);
  EXPECT_EQ(session.host_samples[0].kernel_bytes, 13U);
  ASSERT_EQ(session.commands.size(), 2U);
  EXPECT_TRUE(session.commands[0].had_children);
  EXPECT_FALSE(session.commands[0].is_beside);
  EXPECT_FALSE(session.commands[1].had_children);
  EXPECT_TRUE(session.commands[1].is_beside);
  EXPECT_TRUE(session.commands[1].was_stopped);
  EXPECT_EQ(session.commands[0].cpu_ns, 5'000'000'000U);
  EXPECT_EQ(session.commands[0].read_bytes, 4096U);
  EXPECT_EQ(session.commands[0].written_bytes, std::nullopt);
  EXPECT_EQ(session.commands[0].command[2], "echo 'a\nb'");
  EXPECT_EQ(session.commands[0].exit_status, 137);
  EXPECT_TRUE(session.commands[0].timed_out);
  EXPECT_EQ(session.tree, std::vector<int32_t>{42});
  EXPECT_TRUE(session.ended);
  EXPECT_EQ(session.clock_drift_ns, -4);
}

TEST_F(SessionFolder, EveryPrefixOfALogIsReadable) {
  {
    const auto log = Log();
    log->Device({"nvidia", "Card", "", "", "", 1, 1, false, false});
    for (int64_t i = 0; i < 5; ++i) log->Sample(DeviceSample{i, 0, 1, 2, std::vector<ProcessUse>{{1, 1}}});
    log->End(0, 0, 0);
  }
  std::ifstream file(folder_ / kRunLogName);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  for (size_t length = 0; length < text.size(); ++length) {
    MeasuredSession session;
    AddRunLines(text.substr(0, length), session);
    EXPECT_LE(session.bad_line_count, 1U) << length;  // the line that was cut
    EXPECT_FALSE(session.ended);
  }
}

TEST_F(SessionFolder, WhatIsNoLineIsCountedAndTheRestIsRead) {
  MeasuredSession session;
  AddRunLines("memstrata_run\t1\nused\t1\t0\t1\t1\t0\nhost\tx\nnoise\n\ncommand_end\t4\t0\t0\t0\t0\nmember\t9\n",
              session);
  EXPECT_EQ(session.bad_line_count, 5U);  // a device that was never named, no number, unknown, empty, no such command
  EXPECT_EQ(session.tree.size(), 1U);
  MeasuredSession other_version;
  AddRunLines("memstrata_run\t2\n", other_version);
  EXPECT_EQ(other_version.bad_line_count, 1U);
}

TEST_F(SessionFolder, AFolderThatIsNoRunSaysSo) {
  const auto session = ReadSession(folder_.string());
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::kNotFound);
}

TEST_F(SessionFolder, AKilledProcessIsALowerBound) {
  (void)Log();
  std::ofstream(folder_ / "processes" / "rank0.tsv")
      << "process\t9\t0\nframework\ttorch 2.7\ndevice\t0\tGPU-1\tCard\t100\n"
      << "allocator\t10\t0\t5\t6\t7\t8\t1\t0\nallocator\t20\t0\t1\t2\t70\t80\t2\t1\nallocator\t30\t0\t1";
  const MeasuredSession session = Read();
  ASSERT_EQ(session.processes.size(), 1U);
  EXPECT_FALSE(session.processes[0].complete);
  EXPECT_EQ(session.bad_line_count, 1U);
  const RunPeaks peaks = FindPeaks(session);
  ASSERT_EQ(peaks.allocators.size(), 1U);
  EXPECT_EQ(peaks.allocators[0].allocated.bytes, 70U);
  EXPECT_EQ(peaks.allocators[0].retry_count, 2U);
  EXPECT_TRUE(peaks.allocators[0].allocated.is_lower_bound);
  bool says_so = false;
  for (const Gap& gap : FindGaps(session)) says_so |= gap.what == "the end of rank0";
  EXPECT_TRUE(says_so);
}

MeasuredSession WithDevice(uint64_t pool_peak_bytes) {
  MeasuredSession session;
  session.ended = true;
  session.sample_rate_hz = 10;
  session.devices.push_back({"nvidia", "Card", "GPU-1", "", "1.2", 1000, 0, false, false});
  session.tree = {9};
  for (const uint64_t used : {100, 500, 300})
    session.device_samples.push_back({0, 0, used, 1000 - used, std::vector<ProcessUse>{{9, used - 100}, {77, 50}}});
  FrameworkProcess process;
  process.label = "rank0";
  process.process_id = 9;
  process.complete = true;
  process.devices.push_back({0, "GPU-1", "Card", 1000});
  process.samples.push_back({0, 0, 0, 0, pool_peak_bytes, pool_peak_bytes, 0, 0});
  session.processes.push_back(process);
  return session;
}

TEST(Peaks, ATransientThatTheFrameworkSawAndTheSamplesDidNotIsALowerBound) {
  EXPECT_FALSE(FindPeaks(WithDevice(350)).devices[0].used.is_lower_bound);
  EXPECT_TRUE(FindPeaks(WithDevice(700)).devices[0].used.is_lower_bound);
}

TEST(Peaks, TheDeviceHeldAtLeastWhatOneAllocatorReserved) {
  const DevicePeak peak = FindPeaks(WithDevice(700)).devices[0];
  EXPECT_EQ(peak.used.bytes, 700U);
  EXPECT_TRUE(peak.used.is_lower_bound);
}

MeasuredSession WithHost(std::vector<HostSample> samples, bool had_children) {
  MeasuredSession session;
  session.ended = true;
  session.tree = {9};
  session.host_samples = std::move(samples);
  CommandRun run;
  run.ended = true;
  run.highest_resident_bytes = 300;
  run.had_children = had_children;
  session.commands.push_back(run);
  return session;
}

TEST(Peaks, AProcessOfTheRunThatRecordedNothingMakesThePeakALowerBound) {
  MeasuredSession session = WithDevice(350);
  session.tree.push_back(10);  // the vendor does not name it
  EXPECT_FALSE(FindPeaks(session).devices[0].used.is_lower_bound);
  session.device_samples[1].processes->push_back({10, 60});
  const DevicePeak named = FindPeaks(session).devices[0];
  EXPECT_TRUE(named.used.is_lower_bound);
  EXPECT_NE(named.why_unrecorded.find("process 10 of the run"), std::string::npos);
}

TEST(Peaks, WhereNobodyIsNamedAnyProcessThatRecordedNothingMayHaveUsedTheDevice) {
  MeasuredSession session = WithDevice(350);
  for (DeviceSample& sample : session.device_samples) sample.processes.reset();
  EXPECT_TRUE(FindPeaks(session).devices[0].why_unrecorded.empty());
  session.tree.push_back(10);
  EXPECT_FALSE(FindPeaks(session).devices[0].why_unrecorded.empty());
  session.processes[0].forked_ids = {10};  // it cannot
  EXPECT_TRUE(FindPeaks(session).devices[0].why_unrecorded.empty());
}

TEST(Peaks, AFrameworkIsJoinedToItsInstanceOfACard) {
  MeasuredSession session = WithDevice(350);
  session.devices[0].uuid = "MIG-1";  // of which the framework knows the number alone
  EXPECT_EQ(DeviceIndexOf(session, session.processes[0].devices[0]), 0U);
  session.devices[0].uuid = "MIG-2";
  EXPECT_EQ(DeviceIndexOf(session, session.processes[0].devices[0]), std::nullopt);
}

TEST(Peaks, OneProcessIsCountedByTheKernel) {
  const std::optional<MeasuredPeak> peak = FindPeaks(WithHost({{0, 1, 200, 250}}, false)).host;
  EXPECT_EQ(peak->bytes, 300U);
  EXPECT_FALSE(peak->is_lower_bound);
}

TEST(Peaks, AChildThatNoSampleMetMakesItALowerBound) {
  EXPECT_TRUE(FindPeaks(WithHost({{0, 1, 200, 250}}, true)).host->is_lower_bound);
}

TEST(Peaks, WhatProcessesShareCountsOnce) {
  HostSample sample = {0, 2, 1000, 250};                             // 1,000 in all, each page once for each process
  EXPECT_EQ(FindPeaks(WithHost({sample}, true)).host->bytes, 300U);  // surely as much as the largest alone
  sample.proportional_bytes = 600;
  EXPECT_EQ(FindPeaks(WithHost({sample}, true)).host->bytes, 600U);
}

TEST(Peaks, AMarkThatWasSetBackMakesItALowerBound) {
  MeasuredSession session = WithHost({{0, 1, 200, 250}}, false);
  session.mark_resets = {9};
  EXPECT_TRUE(FindPeaks(session).host->is_lower_bound);
}

TEST(Peaks, FilesInMemoryThatNobodyMapsMakeItALowerBound) {
  std::vector<HostSample> samples = {{0, 1, 200, 250}, {1, 1, 200, 250}};
  constexpr uint64_t kFileBytes = uint64_t{50} << 20;
  samples[0].machine_shared_bytes = 1000;
  samples[1].machine_shared_bytes = 1000 + kFileBytes;
  samples[1].mapped_shared_bytes = kFileBytes;
  EXPECT_FALSE(FindPeaks(WithHost(samples, false)).host->is_lower_bound);
  samples[1].mapped_shared_bytes = 0;
  const MeasuredPeak peak = *FindPeaks(WithHost(samples, false)).host;
  EXPECT_TRUE(peak.is_lower_bound);
  EXPECT_NE(peak.basis.find("grew by 50.0 MiB"), std::string::npos);
}

TEST(Peaks, WhatIsSwappedOutMakesItALowerBound) {
  HostSample sample = {0, 1, 200, 250};
  sample.swapped_bytes = 40;
  const RunPeaks peaks = FindPeaks(WithHost({sample, {1, 1, 200, 250}}, false));
  EXPECT_TRUE(peaks.host->is_lower_bound);
  EXPECT_NE(peaks.host->basis.find("40 B"), std::string::npos);
  EXPECT_EQ(peaks.host_detail.swapped_bytes, 40U);
}

TEST(Peaks, AProgramThatNoSampleMetIsUnknownAndNotZero) {
  MeasuredSession session = WithHost({{0, 0, 0, 0}}, false);
  session.commands[0].highest_resident_bytes.reset();
  EXPECT_FALSE(FindPeaks(session).host);
}

TEST(Peaks, TimeIsOfTheCommandsThatAreWaitedFor) {
  MeasuredSession session = WithHost({}, false);
  session.commands[0].wall_ns = 5;
  session.commands.push_back(session.commands[0]);
  session.commands[1].is_beside = true;
  session.commands[1].wall_ns = 50;
  EXPECT_EQ(FindPeaks(session).wall_ns, 5);
}

TEST(Peaks, OwnAndOtherUsers) {
  const RunPeaks peaks = FindPeaks(WithDevice(1));
  EXPECT_EQ(peaks.devices[0].used.bytes, 500U);
  EXPECT_EQ(peaks.devices[0].begin_bytes, 100U);
  EXPECT_EQ(peaks.devices[0].own->bytes, 400U);
  EXPECT_EQ(peaks.devices[0].other_users, std::vector<int32_t>{77});
  EXPECT_EQ(peaks.devices[0].used_by_others, true);
}

TEST(Peaks, WhereProcessesHaveOtherNumbersItIsNotKnownWhoUsesIt) {
  MeasuredSession session = WithDevice(350);
  session.processes[0].process_id = 4711;  // its number here; the vendor names 9
  session.processes[0].samples[0].reserved_bytes = 300;
  const DevicePeak peak = FindPeaks(session).devices[0];
  EXPECT_EQ(peak.used_by_others, std::nullopt);
  EXPECT_FALSE(peak.own);
  EXPECT_TRUE(peak.other_users.empty());
}

TEST(Peaks, WithoutNamesOfUsersItIsNotKnownWhetherOthersUseIt) {
  MeasuredSession session = WithDevice(1);
  for (DeviceSample& sample : session.device_samples) sample.processes.reset();
  const RunPeaks peaks = FindPeaks(session);
  EXPECT_EQ(peaks.devices[0].used_by_others, std::nullopt);
  EXPECT_FALSE(peaks.devices[0].own);
}

}  // namespace
}  // namespace memstrata::measure
