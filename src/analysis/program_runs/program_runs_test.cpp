#include "analysis/program_runs/program_runs.h"

#include <gtest/gtest.h>

#include "analysis/test_profile.h"

namespace memstrata {
namespace {

std::vector<ProgramRun> RunsOf(SmallProfile& profile) { return FindProgramRuns(profile.store(), profile.Pair()); }

ProgramAllocation Argument(uint64_t size_bytes) {
  return {.size_bytes = size_bytes, .is_entry_parameter = true, .assigned = {}};
}
ProgramAllocation Output(uint64_t size_bytes) {
  return {.size_bytes = size_bytes, .may_live_out = true, .assigned = {}};
}
ProgramAllocation Temp(uint64_t size_bytes) { return {.size_bytes = size_bytes, .assigned = {}}; }

TEST(ProgramRunsTest, ComparesARunWithItsPlan) {
  SmallProfile profile;
  profile.Plan("jit_f", "jit_f(15)", {Argument(1000), Output(2000), Temp(5000)});
  profile.set_heap_bytes(1024);                                // the argument, from before the recording
  profile.Event(EventKind::kAlloc, 100, 1, 0x1000, 512, 512);  // not the program's
  profile.Launch("jit_f", 15, 0, 1000, 2000);
  profile.Event(EventKind::kAlloc, 1100, 0, 0x2000, 2000, 2048);  // output
  profile.Event(EventKind::kAlloc, 1200, 0, 0x3000, 5000, 5120);  // temporary
  profile.Event(EventKind::kAlloc, 1300, 0, 0x5000, 300, 512);    // in no plan
  profile.Event(EventKind::kFreeCompleted, 1400, 0, 0x3000, 5000, 5120);
  const std::vector<ProgramRun> runs = RunsOf(profile);
  ASSERT_EQ(runs.size(), 1u);
  const ProgramRun& run = runs[0];
  EXPECT_EQ(run.name, "jit_f(15)");
  EXPECT_EQ(run.match, ProgramMatch::kById);
  EXPECT_EQ(run.begin_seq, 1u);
  EXPECT_EQ(run.end_seq, 5u);
  EXPECT_EQ(run.high_seq, 3u);
  EXPECT_EQ(run.plan.total_bytes(), 8000u);
  EXPECT_EQ(run.heap_bytes, 1024u + 512 + 2048 + 5120 + 512);
  EXPECT_EQ(run.own_temp_bytes, 5120u);
  EXPECT_EQ(run.own_output_bytes, 2048u);
  EXPECT_EQ(run.own_unplanned_bytes, 512u);
  EXPECT_EQ(run.rounding_bytes, 48u + 120 + 212);
  EXPECT_EQ(run.other_bytes, 512u);
  EXPECT_EQ(run.not_recorded_bytes, 1024);
  EXPECT_EQ(run.unallocated_bytes, 0u);
}

TEST(ProgramRunsTest, KeepsThreadsApartAndSaysWhatWasNotAllocated) {
  SmallProfile profile;
  profile.Plan("jit_f", "jit_f(1)", {Output(256), Temp(1024)});
  profile.Launch("jit_f", 1, 0, 1000, 2000);
  profile.Launch("jit_f", 1, 1, 1000, 2000);
  profile.Event(EventKind::kAlloc, 1100, 0, 0x1000, 256, 256);
  profile.Event(EventKind::kAlloc, 1200, 1, 0x2000, 1024, 1024);
  const std::vector<ProgramRun> runs = RunsOf(profile);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].own_output_bytes, 256u);
  EXPECT_EQ(runs[0].unallocated_bytes, 1024u);
  EXPECT_EQ(runs[1].own_temp_bytes, 1024u);
  EXPECT_EQ(runs[1].unallocated_bytes, 256u);
  EXPECT_EQ(runs[1].other_bytes, 256u);
}

TEST(ProgramRunsTest, SaysWhichPlanRanOnlyWhenItIsSure) {
  SmallProfile profile;
  profile.Plan("jit_add", "jit_add(1)", {Output(256)});
  profile.Plan("jit_add", "jit_add(2)", {Output(512)});
  profile.Plan("jit_mul", "jit_mul(3)", {Output(768)});
  int64_t at_ps = 1000;
  for (const auto& [name, id] : std::vector<std::pair<std::string_view, std::optional<uint64_t>>>{
           {"jit_add", {}}, {"jit_add", 2}, {"jit_add", 9}, {"jit_mul", {}}, {"jit_sub", {}}}) {
    profile.Launch(name, id, 0, at_ps, at_ps + 500);
    profile.Event(EventKind::kAlloc, at_ps + 100, 0, static_cast<uint64_t>(at_ps), 256, 256);
    at_ps += 1000;
  }
  const std::vector<ProgramRun> runs = RunsOf(profile);
  ASSERT_EQ(runs.size(), 5u);
  EXPECT_EQ(runs[0].match, ProgramMatch::kAmbiguous);
  EXPECT_EQ(runs[1].program, 1u);
  EXPECT_EQ(runs[2].match, ProgramMatch::kNoSuchPlan);
  EXPECT_EQ(runs[3].match, ProgramMatch::kByName);
  EXPECT_EQ(runs[4].match, ProgramMatch::kNoSuchPlan);
}

TEST(ProgramRunsTest, TakesRunsOfTheDeviceWhereTheHostHasNone) {
  SmallProfile profile;
  profile.Plan("jit_f", "jit_f(7)", {Argument(100), Temp(900)});
  profile.set_stack_bytes(1000);
  profile.Event(EventKind::kAlloc, 100, 0, 0x1000, 256, 256);
  profile.DeviceRun("jit_f(7)", "/device:TPU:0", 500, 1000);
  profile.DeviceRun("jit_f(7)", "/device:TPU:1", 500, 1000);  // another device
  profile.Event(EventKind::kAlloc, 1200, 0, 0x2000, 256, 256);
  const std::vector<ProgramRun> runs = RunsOf(profile);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(runs[0].is_on_device);
  EXPECT_EQ(runs[0].match, ProgramMatch::kById);
  EXPECT_EQ(runs[0].begin_seq, 1u);
  EXPECT_EQ(runs[0].end_seq, 2u);
  EXPECT_EQ(runs[0].stack_bytes, 1000u);
  EXPECT_EQ(runs[0].heap_bytes, 512u);
  EXPECT_EQ(runs[0].plan.temp_bytes, 900u);
}

}  // namespace
}  // namespace memstrata
