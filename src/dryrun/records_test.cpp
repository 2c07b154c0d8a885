#include "dryrun/records.h"

#include <gtest/gtest.h>

#include "dryrun/dry_run.h"

namespace memstrata::dryrun {
namespace {

TEST(AddRecordLines, TakesBothWritersLines) {
  ProcessRecord record;
  ASSERT_TRUE(
      AddRecordLines("device\t0\t4194304\t2097152\t2\t1\nreads\t3\nkernel\t5\t_Z3fooi\nlibrary\t2\tcublasGemmEx\n"
                     "unanswered\t1\tcufftX\nmissing\t1\tcuY\nrefused\t1\tcuZ\n",
                     record));
  ASSERT_TRUE(
      AddRecordLines("torch\t2.7.1\nrank\t3\nsteps\t2\npeak\t0\t100\t200\t50\noom\t0\t7\t8\t9\n"
                     "read\t4\t/a b.py\t12\tf\t8\nerror\tOutOfMemoryError\tline\\none\\ttab\\\\\n",
                     record));
  ASSERT_EQ(record.devices.size(), 1u);
  EXPECT_EQ(record.devices[0].card_peak_bytes, 4194304u);
  EXPECT_EQ(record.devices[0].peak_allocated_bytes, 100u);
  EXPECT_EQ(record.devices[0].ooms[0].free_bytes, 9u);
  EXPECT_EQ(record.kernels[0].name, "foo(int)");
  EXPECT_EQ(record.rank, 3u);
  EXPECT_EQ(record.reads[0].line, 12u);
  EXPECT_EQ(record.unanswered.size(), 2u);
  EXPECT_EQ(record.refused[0].name, "cuZ");
  EXPECT_EQ(record.error_text, "line\none\ttab\\");
}

TEST(AddRecordLines, TextAndFramesBelongToTheErrorBeforeThem) {
  ProcessRecord record;
  ASSERT_TRUE(
      AddRecordLines("oom_text\t0\tof no error\noom\t0\t7\t8\t9\noom_text\t0\tfirst\noom_frame\t0\t12\ta.py\tf\n"
                     "oom\t0\t1\t2\t3\noom_text\t0\tlast\nerror\tE\tt\nerror_of_memory\t1\n"
                     "error_frame\t3\tb.py\tg\nshared_blocks\t5\n",
                     record));
  const std::vector<OutOfMemory>& ooms = record.devices[0].ooms;
  ASSERT_EQ(ooms.size(), 2u);
  EXPECT_EQ(ooms[0].text, "first");
  ASSERT_EQ(ooms[0].frames.size(), 1u);
  EXPECT_EQ(ooms[0].frames[0].line, 12u);
  EXPECT_EQ(ooms[0].frames[0].function, "f");
  EXPECT_EQ(ooms[1].text, "last");
  EXPECT_TRUE(ooms[1].frames.empty());
  EXPECT_TRUE(record.is_error_of_memory);
  EXPECT_EQ(record.error_frames[0].file, "b.py");
  EXPECT_EQ(record.shared_block_count, 5u);
}

TEST(AddRecordLines, ADeviceThatWasNeverUsedIsNoDevice) {
  ProcessRecord record;
  ASSERT_TRUE(AddRecordLines("device\t0\t8\t8\t1\t0\ndevice\t1\t0\t0\t0\t0\npeak\t1\t0\t0\t0\n", record));
  EXPECT_EQ(record.devices.size(), 1u);
}

TEST(AddRecordLines, ADeviceThatRefusedTheFirstRequestHasAPeakOfNothing) {
  ProcessRecord record;
  ASSERT_TRUE(AddRecordLines("device\t0\t0\t0\t0\t1\npeak\t0\t0\t0\t0\n", record));
  ASSERT_EQ(record.devices.size(), 1u);
  EXPECT_EQ(record.devices[0].peak_allocated_bytes, 0u);
}

TEST(AddRecordLines, AnUnknownOrShortLineIsNamed) {
  for (const char* text : {"what\t1\n", "peak\t0\t1\n", "device\t0\tx\t1\t1\t1\n", "torch\n"}) {
    ProcessRecord record;
    const Status status = AddRecordLines(text, record);
    ASSERT_FALSE(status) << text;
    EXPECT_EQ(status.error().code, ErrorCode::kCorruptInput);
  }
}

TEST(Verdict, AnErrorOfMemoryCountsBeforeTheExitStatus) {
  DryRun run;
  EXPECT_EQ(run.verdict(), Verdict::kCardNotUsed);
  run.exit_status = 1;
  EXPECT_EQ(run.verdict(), Verdict::kScriptFailed);
  run.processes.push_back({.devices = {{.index = 0, .peak_reserved_bytes = 5}}});
  run.exit_status = 0;
  EXPECT_EQ(run.verdict(), Verdict::kFits);
  EXPECT_EQ(run.PeakReservedBytes(), 5u);
  EXPECT_FALSE(run.RefusedBytes());
  run.processes[0].devices[0].ooms.push_back({.requested_bytes = 7});
  EXPECT_EQ(run.verdict(), Verdict::kDoesNotFit);
  EXPECT_EQ(run.RefusedBytes(), 7u);
  run.processes[0].allocations_after_oom = 1;
  EXPECT_EQ(run.verdict(), Verdict::kRanAfterErrors);
  run.exit_status = 1;
  EXPECT_EQ(run.verdict(), Verdict::kDoesNotFit);  // what ended it is not known
  run.processes[0].error_type = "ValueError";
  EXPECT_EQ(run.verdict(), Verdict::kScriptFailed);
  run.processes[0].is_error_of_memory = true;
  EXPECT_EQ(run.verdict(), Verdict::kDoesNotFit);
}

// Launchers end well beside a rank that did not.
TEST(Verdict, ARankThatFailedIsAFailure) {
  DryRun run;
  run.processes.push_back({.rank = 0, .devices = {{.index = 0}}});
  run.processes.push_back({.rank = 1, .devices = {{.index = 1}}});
  EXPECT_EQ(run.verdict(), Verdict::kFits);
  run.processes[1].error_type = "EOFError";
  EXPECT_EQ(run.verdict(), Verdict::kScriptFailed);
  EXPECT_EQ(run.FailedRank()->rank, 1u);
}

}  // namespace
}  // namespace memstrata::dryrun
