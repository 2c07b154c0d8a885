#include "measure/run.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "measure/process_tree.h"

namespace memstrata::measure {
namespace {

namespace fs = std::filesystem;

class Run : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("run-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    setenv("MEMSTRATA_NVIDIA_LIBRARY", FAKE_NVML, 1);
    setenv("FAKE_DEVICES", (folder_ / "devices").c_str(), 1);
    std::ofstream(folder_ / "devices") << "device 1000 100 300 Card\n";
  }
  void TearDown() override { fs::remove_all(folder_); }
  RunRequest Shell(const std::string& text) const {
    RunRequest request;
    request.commands = {{"sh", "-c", text}};
    request.folder = (folder_ / "run.memstrata").string();
    request.sample_rate_hz = 100;
    return request;
  }

  fs::path folder_;
};

TEST_F(Run, ExitStatusAndSamples) {
  const auto session = MeasureRun(Shell("sleep 0.2; exit 7"));
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->commands[0].exit_status, 7);
  EXPECT_GE(session->commands[0].wall_ns, 200'000'000);
  EXPECT_TRUE(session->ended);
  EXPECT_GT(session->device_samples.size(), 3U);
  EXPECT_EQ(session->device_samples[0].used_bytes, 400U);
  EXPECT_EQ(FindPeaks(*session).devices[0].begin_bytes, 400U);
  EXPECT_EQ(fs::status(folder_ / "run.memstrata").permissions(), fs::perms::owner_all);
  EXPECT_TRUE(fs::is_regular_file(folder_ / "run.memstrata" / "session.json"));
}

TEST_F(Run, ASignalThatEndsTheProgram) {
  const auto session = MeasureRun(Shell("kill -9 $$"));
  ASSERT_TRUE(session);
  EXPECT_EQ(session->commands[0].exit_status, 128 + SIGKILL);
}

// A program that waits behind the trap, and a signal to this process meanwhile.
Result<MeasuredSession> MeasureWithSignal(const RunRequest& request, int signal) {
  std::thread sender([signal] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    kill(getpid(), signal);
  });
  auto session = MeasureRun(request);
  sender.join();
  return session;
}

constexpr const char* kWait = "; i=0; while [ $i -lt 100 ]; do sleep 0.05; i=$((i+1)); done";

TEST_F(Run, SignalsAreForwarded) {
  const auto session = MeasureWithSignal(Shell(std::string("trap 'exit 5' USR1") + kWait), SIGUSR1);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->commands[0].exit_status, 5);
  EXPECT_TRUE(session->signals.empty());  // it is not for ending a program
}

TEST_F(Run, ASignalThatIsToEndTheRunIsNotedAlsoWhereTheProgramEndsWell) {
  const auto session = MeasureWithSignal(Shell(std::string("trap 'exit 0' TERM") + kWait), SIGTERM);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->commands[0].exit_status, 0);
  EXPECT_EQ(session->signals, std::vector<int32_t>{SIGTERM});
  EXPECT_EQ(ReadSession(session->folder)->signals, std::vector<int32_t>{SIGTERM});
}

TEST_F(Run, AMarkThatFallsWasSetBackUnlessAnotherProgramRunsNow) {
  const std::string take = "python3 -c 'import time; kept = b\"x\" * (64 << 20); del kept; time.sleep(0.2); ";
  const auto session =
      MeasureRun(Shell("exec " + take + "open(\"/proc/self/clear_refs\", \"w\").write(\"5\"); time.sleep(0.2)'"));
  ASSERT_TRUE(session);
  EXPECT_FALSE(session->mark_resets.empty());
  const auto other = MeasureRun(Shell("exec " + take + "import os; os.execv(\"/bin/sleep\", [\"sleep\", \"0.2\"])'"));
  ASSERT_TRUE(other);
  EXPECT_TRUE(other->mark_resets.empty());
}

TEST_F(Run, WhatTheKernelListsIsTheTree) {
  RunRequest request = Shell("(sleep 0.4 & sleep 0.4 & wait) & sleep 0.2; wait");
  std::vector<int32_t> listed;
  std::vector<int32_t> scanned;
  std::thread looker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    listed = ListedDescendants(getpid()).value_or(Descendants(getpid()));
    scanned = Descendants(getpid());
  });
  const auto session = MeasureRun(request);
  looker.join();
  ASSERT_TRUE(session);
  std::sort(listed.begin(), listed.end());
  std::sort(scanned.begin(), scanned.end());
  EXPECT_EQ(listed, scanned);
  EXPECT_GE(session->tree.size(), 4U);
}

TEST_F(Run, OfTheEnvironmentOnlyWhatDecidesOnMemoryIsKept) {
  RunRequest request = Shell("true");
  request.variables = {{"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:\t64"}, {"API_TOKEN", "secret"}};
  const auto session = MeasureRun(request);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->variables.at("PYTORCH_CUDA_ALLOC_CONF"), "max_split_size_mb:\t64");
  EXPECT_FALSE(session->variables.contains("API_TOKEN"));
}

TEST_F(Run, AHangEndsAtTheTimeout) {
  RunRequest request = Shell("sleep 60 & wait");
  request.timeout_ns = 300'000'000;
  const auto session = MeasureRun(request);
  ASSERT_TRUE(session);
  EXPECT_TRUE(session->commands[0].timed_out);
  EXPECT_EQ(session->commands[0].exit_status, 128 + SIGTERM);
  EXPECT_LT(session->commands[0].wall_ns, 8'000'000'000);
}

TEST_F(Run, ADeviceThatIsLostMeanwhileIsToldOnce) {
  const std::string lost = "printf 'broken 0\\n' >> " + (folder_ / "devices").string();
  const auto session = MeasureRun(Shell("sleep 0.1; " + lost + "; sleep 0.1"));
  ASSERT_TRUE(session);
  EXPECT_FALSE(session->device_samples.empty());
  EXPECT_EQ(std::count_if(session->gaps.begin(), session->gaps.end(),
                          [](const Gap& gap) { return gap.what == "memory of device 0"; }),
            1);
}

TEST_F(Run, SeveralCommandsAtOnce) {
  RunRequest request = Shell("exit 1");
  request.commands.push_back({"sh", "-c", "exit 2"});
  const auto session = MeasureRun(request);
  ASSERT_TRUE(session);
  ASSERT_EQ(session->commands.size(), 2U);
  EXPECT_EQ(session->commands[0].exit_status, 1);
  EXPECT_EQ(session->commands[1].exit_status, 2);
}

TEST_F(Run, AProgramThatIsNotThereLeavesTheEarlierSession) {
  RunRequest request = Shell("exit 3");
  ASSERT_TRUE(MeasureRun(request));
  request.commands = {{"memstrata-no-such-program"}};
  const auto session = MeasureRun(request);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::kNotFound);
  const auto earlier = ReadSession(request.folder);
  ASSERT_TRUE(earlier);
  EXPECT_EQ(earlier->commands[0].exit_status, 3);
}

TEST_F(Run, WhatRunsBesideEndsWithTheCommand) {
  RunRequest request = Shell("sleep 0.1");
  request.beside = {{"sleep", "600"}, {"sh", "-c", "exit 4"}};
  const auto session = MeasureRun(request);
  ASSERT_TRUE(session);
  ASSERT_EQ(session->commands.size(), 3U);
  EXPECT_TRUE(session->commands[0].is_beside && session->commands[0].was_stopped);
  EXPECT_FALSE(session->commands[1].was_stopped);
  EXPECT_EQ(session->commands[1].exit_status, 4);
  EXPECT_FALSE(session->commands[2].is_beside);
  EXPECT_LT(FindPeaks(*session).wall_ns, 60'000'000'000);
}

TEST_F(Run, NothingIsLeftRunningWhereThatIsAsked) {
  RunRequest request = Shell("sleep 600 & exit 0");
  request.ends_all = true;
  ASSERT_TRUE(MeasureRun(request));
  EXPECT_TRUE(Descendants(getpid()).empty());
}

TEST_F(Run, AShortProgramIsMetByASample) {
  RunRequest request = Shell("exec sleep 0.04");
  request.sample_rate_hz = 1;
  const auto session = MeasureRun(request);
  ASSERT_TRUE(session);
  EXPECT_GT(FindPeaks(*session).host->bytes, 0U);
}

TEST_F(Run, ALongRunIsThinnedOut) {
  RunRequest request = Shell("sleep 0.6");
  request.sample_rate_hz = 500;
  request.thinning_bytes = 2000;
  const auto session = MeasureRun(request);
  ASSERT_TRUE(session);
  EXPECT_LT(session->host_samples.size(), 100U);  // of 300
  EXPECT_EQ(std::count_if(session->gaps.begin(), session->gaps.end(),
                          [](const Gap& gap) { return gap.what == "samples at the full rate"; }),
            1);
}

TEST_F(Run, ALogThatIsGoneCostsNotTheExitStatus) {
  const auto session = MeasureRun(Shell("rm " + (folder_ / "run.memstrata" / "run.tsv").string() + "; exit 7"));
  ASSERT_TRUE(session);
  EXPECT_EQ(session->commands[0].exit_status, 7);
  EXPECT_FALSE(session->ended);
}

TEST_F(Run, AFullDiskEndsTheRecordingAndNotTheProgram) {
  RunRequest request = Shell("sleep 0.3; exit 4");
  fs::create_directories(request.folder);
  std::ofstream(fs::path(request.folder) / "session.json") << "{}";
  struct rlimit before {};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);  // so that a write beyond the limit fails as on a full disk
  struct rlimit small = {900, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  request.mode = CaptureMode::kOff;
  const auto session = MeasureRun(request);
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->commands[0].exit_status, 4);
  EXPECT_FALSE(session->ended);
  EXPECT_EQ(session->bad_line_count, 0U);
}

TEST_F(Run, AFolderThatIsNoSessionIsLeftAlone) {
  RunRequest request = Shell("exit 0");
  fs::create_directories(request.folder);
  std::ofstream(fs::path(request.folder) / "thesis.txt") << "text";
  const auto session = MeasureRun(request);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(fs::exists(fs::path(request.folder) / "thesis.txt"));
}

}  // namespace
}  // namespace memstrata::measure
