#include "dryrun/answer.h"

#include <gtest/gtest.h>

namespace memstrata::dryrun {
namespace {

TEST(BasisOf, TheWorstThatIsKnownOfAPeak) {
  DryRunRequest request;
  ProcessRecord process;
  EXPECT_EQ(BasisOf(request, process), PeakBasis::kExact);
  process.reads.push_back({.file = "a.py", .count = 1});
  EXPECT_EQ(BasisOf(request, process), PeakBasis::kDependsOnValues);
  process.shared_block_count = 1;
  EXPECT_EQ(BasisOf(request, process), PeakBasis::kNoTime);
  process.library_calls.push_back({"cudnnBackendExecute", 1});
  EXPECT_EQ(BasisOf(request, process), PeakBasis::kNoWorkAreas);
  request.convolution_workspace_bytes = 1;
  EXPECT_EQ(BasisOf(request, process), PeakBasis::kNoTime);
  process.idle_optimizer_count = 1;
  EXPECT_EQ(BasisOf(request, process), PeakBasis::kUnfinished);
}

TEST(TellingError, TheOneThatEndedTheProgramElseTheFirst) {
  ProcessRecord process;
  const DeviceRecord device = {.ooms = {{.requested_bytes = 1}, {.requested_bytes = 2}}};
  EXPECT_EQ(TellingError(process, device).requested_bytes, 1u);
  process.is_error_of_memory = true;
  EXPECT_EQ(TellingError(process, device).requested_bytes, 2u);
}

TEST(ShownCommand, HasNoArgumentsOfTheProgramUnlessTheyAreAskedFor) {
  using Texts = std::vector<std::string>;
  const auto shown = [](Texts command) { return ShownCommand({.command = std::move(command)}); };
  EXPECT_EQ(shown({"/env/bin/python3", "-u", "train.py", "--token", "x"}), Texts({"/env/bin/python3", "train.py"}));
  EXPECT_EQ(shown({"python", "-X", "dev", "-m", "pkg.train", "--token=x"}), Texts({"python", "-m", "pkg.train"}));
  EXPECT_EQ(shown({"python", "-c", "secret = 1"}), Texts({"python"}));
  EXPECT_EQ(shown({"torchrun", "--nproc-per-node", "2", "train.py"}), Texts({"torchrun"}));
  EXPECT_EQ(ShownCommand({.command = {"python", "a.py", "x"}, .keeps_arguments = true}),
            Texts({"python", "a.py", "x"}));
}

TEST(WholeProgram, TakesTheFirstErrorWithItsPlace) {
  DryRun run;
  run.processes.resize(2);
  run.processes[1].error_type = "ValueError";
  run.processes[1].error_frames = {{"a.py", 3, "f"}};
  run.processes[1].shared_block_count = 2;
  const ProcessRecord whole = WholeProgram(run);
  EXPECT_EQ(whole.error_type, "ValueError");
  ASSERT_EQ(whole.error_frames.size(), 1u);
  EXPECT_EQ(whole.shared_block_count, 2u);
}

}  // namespace
}  // namespace memstrata::dryrun
