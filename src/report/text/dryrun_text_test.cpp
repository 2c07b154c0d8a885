#include "report/text/dryrun_text.h"

#include <gtest/gtest.h>

#include "base/byte_sink.h"

namespace memstrata {
namespace {

using dryrun::DryRunAnswer;

std::string TextOf(const DryRunAnswer& answer) {
  StringSink sink;
  EXPECT_TRUE(WriteDryRunText(answer, nullptr, {}, sink));
  return sink.text();
}

DryRunAnswer OutOfMemoryAnswer() {
  DryRunAnswer answer;
  answer.request.card.visible_bytes = 1 << 30;
  answer.wheel.folder = "/env/torch";
  dryrun::DeviceRecord device = {.index = 0, .peak_allocated_bytes = 4096};
  device.ooms = {{.requested_bytes = 1 << 30,
                  .text = "CUDA out of memory.",
                  .frames = {{"/env/torch/nn/linear.py", 7, "forward"}, {"/home/train.py", 12, "step"}}}};
  answer.run.processes = {{.devices = {device}, .error_type = "OutOfMemoryError", .is_error_of_memory = true}};
  answer.run.exit_status = 1;
  return answer;
}

TEST(DryRunText, AnOutOfMemoryErrorHasItsTextAndTheProgramsOwnLines) {
  const std::string text = TextOf(OutOfMemoryAnswer());
  EXPECT_NE(text.find("    CUDA out of memory.\n    /home/train.py:12 in step\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("linear.py"), std::string::npos) << text;
}

TEST(DryRunText, WhereOnlyTheFrameworkIsItsInnermostLineIsShown) {
  DryRunAnswer answer = OutOfMemoryAnswer();
  answer.run.processes[0].devices[0].ooms[0].frames.pop_back();
  EXPECT_NE(TextOf(answer).find("/env/torch/nn/linear.py:7 in forward"), std::string::npos);
}

TEST(DryRunText, AnotherErrorIsToldWhole) {
  DryRunAnswer answer = OutOfMemoryAnswer();
  dryrun::ProcessRecord& process = answer.run.processes[0];
  process.devices[0].ooms.clear();
  process.is_error_of_memory = false;
  process.error_type = "ValueError";
  process.error_text = "a long text " + std::string(300, 'x');
  process.error_frames = {{"/home/train.py", 3, "main"}};
  const std::string text = TextOf(answer);
  EXPECT_NE(text.find("ValueError"), std::string::npos);
  EXPECT_NE(text.find(std::string(300, 'x')), std::string::npos);
  EXPECT_NE(text.find("/home/train.py:3 in main"), std::string::npos);
}

TEST(DryRunText, ATrialThatDoesNotFitSaysWhatWasRefused) {
  DryRunAnswer answer = OutOfMemoryAnswer();
  answer.search.emplace();
  answer.search->trials.push_back({.value = 2, .run = answer.run});
  EXPECT_NE(TextOf(answer).find("does not fit: a request of 1.00 GiB failed"), std::string::npos);
}

}  // namespace
}  // namespace memstrata
