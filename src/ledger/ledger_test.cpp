#include "ledger/ledger.h"

#include <gtest/gtest.h>

#include <random>

#include "ledger/moment.h"

namespace memstrata::ledger {
namespace {

using measure::AllocatorSample;
using measure::FrameworkProcess;
using measure::MeasuredSession;
using measure::ProcessUse;

std::optional<int64_t> BytesOf(const Balance& balance, Term term) {
  for (const Line& line : balance.lines) {
    if (line.term == term) return line.bytes;
  }
  ADD_FAILURE() << "no line " << kTermNames[static_cast<size_t>(term)];
  return std::nullopt;
}

int64_t SumOf(const Balance& balance) {
  int64_t sum = balance.unexplained_bytes;
  for (const Line& line : balance.lines) sum += line.bytes.value_or(0);
  return sum;
}

// One device with 1,000 bytes; at time 10 it uses 500: 50 of the driver, 300 of the recorded process 9, 60 of its child
// 10, 70 of a stranger, and 20 that nobody names.
MeasuredSession Example() {
  MeasuredSession session;
  session.ended = true;
  session.sample_rate_hz = 10;
  session.machine_bytes = 4000;
  session.tree = {9, 10};
  session.devices.push_back({"nvidia", "Card", "GPU-1", "", "1.2", 1000, 50, false, false});
  session.device_samples.push_back({0, 0, 120, 880, std::vector<ProcessUse>{{77, 70}}});
  session.device_samples.push_back({10, 0, 500, 500, std::vector<ProcessUse>{{9, 300}, {10, 60}, {77, 70}}});
  session.device_samples.push_back({20, 0, 400, 600, std::vector<ProcessUse>{{9, 200}, {10, 60}, {77, 70}}});
  session.host_samples.push_back({0, 2, 100, 100, 0, 0, 0, 3000, std::nullopt, 95, 90, 500, 200});
  FrameworkProcess process;
  process.label = "rank0";
  process.process_id = 9;
  process.devices.push_back({3, "GPU-1", "Card", 1000});
  process.samples.push_back({9, 3, 180, 220, 180, 220, 0, 0});
  process.samples.push_back({19, 3, 100, 150, 180, 220, 0, 0});
  session.processes.push_back(process);
  return session;
}

TEST(Ledger, EachPartOfTheDeviceAndWhatIsLeft) {
  const auto answer = MakeLedger(Example(), nullptr, "peak");
  ASSERT_TRUE(answer);
  const Balance& balance = answer->devices.at(0).balance;
  EXPECT_EQ(balance.used_bytes, 500U);
  EXPECT_EQ(BytesOf(balance, Term::kTensors), 180);
  EXPECT_EQ(BytesOf(balance, Term::kIdle), 40);
  EXPECT_EQ(BytesOf(balance, Term::kProcessOutside), 80);
  EXPECT_EQ(BytesOf(balance, Term::kUnrecordedProcesses), 60);
  EXPECT_EQ(BytesOf(balance, Term::kOtherProcesses), 70);
  EXPECT_EQ(BytesOf(balance, Term::kDriverReserve), 50);
  EXPECT_EQ(balance.unexplained_bytes, 20);
  EXPECT_EQ(SumOf(balance), 500);
}

TEST(Ledger, AtTheEndAndAtATime) {
  EXPECT_EQ(MakeLedger(Example(), nullptr, "end")->devices[0].balance.used_bytes, 500U);  // the last answer was at 19
  EXPECT_EQ(MakeLedger(Example(), nullptr, "20ns")->devices[0].balance.used_bytes, 400U);
  EXPECT_EQ(MakeLedger(Example(), nullptr, "0ns")->devices[0].balance.used_bytes, 120U);
  for (const char* text : {"", "noon", "-1s", "1", "nans"}) EXPECT_FALSE(MakeLedger(Example(), nullptr, text)) << text;
}

TEST(Ledger, BeforeTheFrameworkAnsweredItHoldsNothing) {
  const auto answer = MakeLedger(Example(), nullptr, "0ns");
  EXPECT_EQ(answer->devices[0].balance.lines.size(), 3U);  // unrecorded, other processes, driver
  EXPECT_EQ(answer->devices[0].balance.unexplained_bytes, 0);
}

TEST(Ledger, WhatTheVendorDoesNotSayIsUnknownAndNotZero) {
  MeasuredSession session = Example();
  for (measure::DeviceSample& sample : session.device_samples) sample.processes.reset();
  session.devices[0].reserved_bytes.reset();
  const Balance balance = MakeLedger(session, nullptr, "peak")->devices[0].balance;
  for (const Term term : {Term::kProcessOutside, Term::kOtherProcesses, Term::kDriverReserve})
    EXPECT_EQ(BytesOf(balance, term), std::nullopt);
  EXPECT_EQ(balance.unexplained_bytes, 500 - 220);
  for (const Line& line : balance.lines) EXPECT_TRUE(line.bytes || !line.note.empty());
}

TEST(Ledger, AHiddenProcessHidesNoOther) {
  MeasuredSession session = Example();
  session.device_samples[1].processes->push_back({78, std::nullopt});
  const Balance balance = MakeLedger(session, nullptr, "peak")->devices[0].balance;
  EXPECT_EQ(BytesOf(balance, Term::kOtherProcesses), 70);
  const auto hidden = std::find_if(balance.lines.begin(), balance.lines.end(), [](const Line& line) {
    return line.term == Term::kOtherProcesses && line.process == "process 78";
  });
  ASSERT_NE(hidden, balance.lines.end());
  EXPECT_EQ(hidden->bytes, std::nullopt);
  EXPECT_FALSE(hidden->note.empty());
  EXPECT_EQ(SumOf(balance), 500);
}

TEST(Ledger, OfManyProcessesTheRestIsOneLine) {
  MeasuredSession session = Example();
  session.device_samples[1].processes->clear();
  for (int32_t id = 100; id < 130; ++id) session.device_samples[1].processes->push_back({id, 5});
  session.processes.clear();
  const Balance balance = MakeLedger(session, nullptr, "peak")->devices[0].balance;
  const auto count = std::count_if(balance.lines.begin(), balance.lines.end(),
                                   [](const Line& line) { return line.term == Term::kOtherProcesses; });
  EXPECT_EQ(count, 17);
  EXPECT_EQ(SumOf(balance), 500);
  EXPECT_EQ(balance.unexplained_bytes, 500 - 50 - 30 * 5);
}

TEST(Ledger, WhereProcessesHaveOtherNumbersNobodysMemoryIsCountedTwice) {
  MeasuredSession session = Example();
  for (measure::DeviceSample& sample : session.device_samples) sample.processes = std::vector<ProcessUse>{{4711, 430}};
  const Balance balance = MakeLedger(session, nullptr, "peak")->devices[0].balance;
  EXPECT_EQ(BytesOf(balance, Term::kOtherProcesses), std::nullopt);
  EXPECT_EQ(BytesOf(balance, Term::kUnrecordedProcesses), std::nullopt);
  EXPECT_GE(balance.unexplained_bytes, 0);
  EXPECT_EQ(SumOf(balance), 500);
}

TEST(Ledger, ARecordedProcessThatHoldsNothingYetIsNoStranger) {
  MeasuredSession session = Example();
  session.processes[0].samples.erase(session.processes[0].samples.begin());  // its first answer comes after the peak
  const Balance balance = MakeLedger(session, nullptr, "peak")->devices[0].balance;
  EXPECT_EQ(BytesOf(balance, Term::kProcessOutside), 300);
  EXPECT_EQ(BytesOf(balance, Term::kUnrecordedProcesses), 60);
}

TEST(Ledger, OfEqualPeaksTheLastIsTakenThatTheFrameworkAnswered) {
  MeasuredSession session = Example();
  session.device_samples[2].used_bytes = 500;  // at 20: the framework's last answer is at 19
  EXPECT_EQ(MakeLedger(session, nullptr, "peak")->devices[0].balance.time_ns, 10);
  session.device_samples[2].time_ns = 19;
  EXPECT_EQ(MakeLedger(session, nullptr, "peak")->devices[0].balance.time_ns, 19);
}

TEST(Ledger, OfEqualPeaksThatOfMostAnswersIsTaken) {
  MeasuredSession session = Example();
  session.device_samples[2] = session.device_samples[1];
  session.device_samples[2].time_ns = 16;
  FrameworkProcess child = session.processes[0];  // the child of the run, which has ended its recording at 12
  child.label = "rank0-10";
  child.process_id = 10;
  child.samples = {{8, 3, 5, 10, 5, 10, 0, 0}, {12, 3, 0, 10, 5, 10, 0, 0}};
  session.processes.push_back(child);
  EXPECT_EQ(MakeLedger(session, nullptr, "peak")->devices[0].balance.time_ns, 10);
}

TEST(Ledger, ThePoolsOfAProcessThatHasEndedItsRecordingAndLivesAreAsTheyWereLast) {
  constexpr int64_t kLaterNs = 10'000'000'000;
  MeasuredSession session = Example();
  session.device_samples.push_back({kLaterNs, 0, 450, 550, std::vector<ProcessUse>{{9, 250}}});
  session.host_samples[0].time_ns = kLaterNs;  // times count from it
  const Balance balance = MakeLedger(session, nullptr, "0s")->devices[0].balance;
  ASSERT_EQ(balance.time_ns, kLaterNs);
  EXPECT_EQ(BytesOf(balance, Term::kTensors), 100);
  EXPECT_EQ(BytesOf(balance, Term::kProcessOutside), 250 - 150);
  session.device_samples.back().processes->clear();  // it is gone
  const Balance gone = MakeLedger(session, nullptr, "0s")->devices[0].balance;
  EXPECT_TRUE(
      std::none_of(gone.lines.begin(), gone.lines.end(), [](const Line& line) { return line.term == Term::kTensors; }));
  EXPECT_EQ(SumOf(balance), 450);
}

TEST(Ledger, APeakOfTheHostThatNoSampleSawIsSaid) {
  const auto says = [](const MeasuredSession& session) {
    const auto ledger = MakeLedger(session, nullptr, "peak");
    return std::any_of(ledger->gaps.begin(), ledger->gaps.end(),
                       [](const measure::Gap& gap) { return gap.what == "the host at the run's own peak"; });
  };
  MeasuredSession session = Example();
  session.host_samples[0].proportional_bytes = 100;
  EXPECT_FALSE(says(session));
  session.host_samples[0].highest_resident_bytes = 300;
  EXPECT_TRUE(says(session));
}

TEST(Ledger, TheHostAddsUpToo) {
  const auto answer = MakeLedger(Example(), nullptr, "peak");
  ASSERT_TRUE(answer->host);
  EXPECT_EQ(answer->host->used_bytes, 1000U);
  EXPECT_EQ(BytesOf(*answer->host, Term::kResident), 90);
  EXPECT_EQ(BytesOf(*answer->host, Term::kOtherProcesses), 500 - 90);
  EXPECT_EQ(BytesOf(*answer->host, Term::kKernel), 200);
  EXPECT_EQ(answer->host->unexplained_bytes, 300);
}

TEST(Ledger, ThePeakOfTheHostIsASampleThatCanBeSplit) {
  MeasuredSession session = Example();
  session.host_samples.push_back(
      {5, 2, 900, 800, 0, 0, 0, 2000, std::nullopt});  // higher, and not asked what is shared
  EXPECT_EQ(MakeLedger(session, nullptr, "peak")->host->time_ns, 0);
  session.host_samples[0].held_bytes.reset();
  EXPECT_EQ(MakeLedger(session, nullptr, "peak")->host->time_ns, 5);
}

TEST(Ledger, WhatTheHostDoesNotSayIsUnknownAndNotZero) {
  for (const bool has_process : {true, false}) {
    MeasuredSession session = Example();
    measure::HostSample& sample = session.host_samples[0];
    sample.process_count = has_process ? 2 : 0;
    sample.held_bytes.reset();
    sample.machine_held_bytes.reset();
    sample.kernel_bytes.reset();
    const Balance balance = *MakeLedger(session, nullptr, "peak")->host;
    for (const Term term : {Term::kResident, Term::kOtherProcesses, Term::kKernel})
      EXPECT_EQ(BytesOf(balance, term), std::nullopt);
    for (const Line& line : balance.lines) EXPECT_FALSE(line.note.empty());
    EXPECT_EQ(balance.unexplained_bytes, 1000);
  }
}

// Whatever processes, counters and holes in knowledge there are, each balance adds up to what the device says.
TEST(Ledger, EverySumIsExact) {
  std::mt19937_64 random(7);
  const auto below = [&random](uint64_t bound) { return random() % bound; };
  for (int round = 0; round < 300; ++round) {
    MeasuredSession session;
    session.machine_bytes = below(1 << 30);
    for (uint32_t device = 0; device < 1 + below(3); ++device)
      session.devices.push_back({"nvidia", "", "GPU-" + std::to_string(device), "", "", 1 << 30,
                                 below(2) ? std::optional<uint64_t>(below(1000)) : std::nullopt, false, false});
    for (int32_t id = 1; id <= 6; ++id) {
      if (below(2)) session.tree.push_back(id);
    }
    for (int64_t time = 0; time < 20; ++time) {
      measure::DeviceSample sample = {
          time, static_cast<uint32_t>(below(session.devices.size())), below(1 << 30), 0, {}};
      if (below(4)) {
        sample.processes.emplace();
        for (int32_t id = 1; id <= 6; ++id) {
          if (below(2))
            sample.processes->push_back({id, below(5) ? std::optional<uint64_t>(below(1 << 20)) : std::nullopt});
        }
      }
      session.device_samples.push_back(sample);
      const auto maybe = [&] { return below(3) ? std::optional<uint64_t>(below(1 << 30)) : std::nullopt; };
      session.host_samples.push_back({time, static_cast<uint32_t>(below(3)), below(1 << 30), 0, 0, 0, 0, below(1 << 30),
                                      std::nullopt, maybe(), maybe(), maybe(), maybe()});
    }
    for (int32_t id = 1; id <= 3; ++id) {
      FrameworkProcess process;
      process.process_id = id;
      process.label = "rank" + std::to_string(id);
      process.devices.push_back({0, "GPU-" + std::to_string(below(3)), "", 0});
      for (int64_t time = 0; time < 20; time += 3)
        process.samples.push_back({time, 0, below(1 << 20), below(1 << 21), 0, 0, 0, 0});
      session.processes.push_back(process);
    }
    for (const char* at : {"peak", "end", "7ns"}) {
      const auto answer = MakeLedger(session, nullptr, at);
      ASSERT_TRUE(answer);
      for (const DeviceLedger& device : answer->devices)
        EXPECT_EQ(SumOf(device.balance), static_cast<int64_t>(device.balance.used_bytes));
      ASSERT_TRUE(answer->host);
      EXPECT_EQ(SumOf(*answer->host), static_cast<int64_t>(answer->host->used_bytes));
    }
  }
}

TEST(Curves, HighestPointOfEachPartStays) {
  MeasuredSession session = Example();
  session.device_samples.clear();
  for (int64_t time = 0; time < 1000; ++time)
    session.device_samples.push_back({time, 0, static_cast<uint64_t>(time == 637 ? 999 : time % 10), 0, {}});
  const std::vector<CurvePoint> points = DeviceCurve(session, 0, 50);
  EXPECT_EQ(points.size(), 50U);
  uint64_t highest = 0;
  for (const CurvePoint& point : points) highest = std::max(highest, point.used_bytes);
  EXPECT_EQ(highest, 999U);
}

}  // namespace
}  // namespace memstrata::ledger
