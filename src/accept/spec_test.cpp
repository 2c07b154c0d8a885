#include "accept/spec.h"

#include <gtest/gtest.h>

#include "accept/spec_writer.h"

namespace memstrata::accept {
namespace {

constexpr std::string_view kSmall = R"(
[workload]
command = ["python", "serve.py", "--batch", "{batch}"]
[parameters]
batch = 8
[limits]
device_peak = "70 GiB"
)";

std::string ProblemOf(const std::string& text) {
  const Result<Spec> spec = ParseSpec(text);
  return spec ? "accepted" : spec.error().message;
}

TEST(Spec, ReadsAWorkloadAndItsLimits) {
  const Result<Spec> spec = ParseSpec(kSmall);
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->workload.command.size(), 4u);
  EXPECT_EQ(*spec->limits.device_peak_bytes, uint64_t{70} << 30);
  EXPECT_EQ(spec->workload.repeat_count, 3u);
  EXPECT_EQ(Fill(spec->workload.command, spec->parameters).back(), "8");
}

TEST(Spec, UnknownKeysAreErrorsWithTheirFullName) {
  EXPECT_NE(ProblemOf(std::string(kSmall) + "devise_peak = 1\n").find("limits.devise_peak"), std::string::npos);
  EXPECT_NE(ProblemOf("nmae = \"x\"\n" + std::string(kSmall)).find("nmae"), std::string::npos);
  EXPECT_NE(ProblemOf(std::string(kSmall) + "[limit]\n").find("limit"), std::string::npos);
  EXPECT_NE(ProblemOf(std::string(kSmall) + "[[beside]]\ncomand = [\"x\"]\n").find("beside.co"), std::string::npos);
}

TEST(Spec, ValuesOfAnotherKindAreErrors) {
  const auto with = [](const std::string& line) { return ProblemOf(std::string(kSmall) + line + "\n"); };
  EXPECT_NE(with("errors = \"0\"").find("limits.errors"), std::string::npos);
  EXPECT_NE(with("errors = 1.5").find("whole number"), std::string::npos);
  EXPECT_NE(with("errors = -1").find("at least 0"), std::string::npos);
  EXPECT_NE(with("host_peak = \"much\"").find("takes a size"), std::string::npos);
  EXPECT_NE(with("margin = 5").find("in quotes"), std::string::npos);
  EXPECT_NE(with("margin = \"some\"").find("learned"), std::string::npos);
  EXPECT_NE(with("growth_per_iteration = \"1 MiB\"").find("workload.entry"), std::string::npos);
  EXPECT_NE(with("[quality]\ncommand = [\"x\"]").find("minimum"), std::string::npos);
  EXPECT_NE(with("[quality]\noutput = \"x\"").find("reference"), std::string::npos);
  EXPECT_NE(with("[maximum]\ntokens = 4096").find("parameters.tokens"), std::string::npos);
}

TEST(Spec, AWorkloadIsACommandOrAnEntry) {
  EXPECT_NE(ProblemOf("[limits]\ndevice_peak = 1\n").find("workload.command"), std::string::npos);
  EXPECT_NE(ProblemOf("[workload]\ncommand = [\"a\"]\nentry = \"m:f\"\n[limits]\ndevice_peak = 1\n").find("not both"),
            std::string::npos);
  EXPECT_NE(ProblemOf("[workload]\ncommand = [\"a\"]\niterations = 5\n[limits]\ndevice_peak = 1\n").find("iterations"),
            std::string::npos);
  EXPECT_NE(ProblemOf("[workload]\nentry = \"function\"\n[limits]\ndevice_peak = 1\n").find("module:function"),
            std::string::npos);
}

TEST(Spec, WithoutALimitThereIsNothingToProve) {
  EXPECT_NE(ProblemOf("[workload]\ncommand = [\"a\"]\n").find("nothing to prove"), std::string::npos);
}

TEST(Spec, CombinationsOfASweep) {
  const Result<Spec> spec =
      ParseSpec(std::string(kSmall) + "[sweep]\nbatch = [1, 2]\nprecision = [\"fp32\", \"bf16\"]\n");
  ASSERT_TRUE(spec) << spec.error().message;
  const auto all = Combinations(*spec);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[1].at("batch"), "1");
  EXPECT_EQ(all[1].at("precision"), "bf16");
  EXPECT_EQ(WithParameters(*spec, all[3]).parameters.at("batch"), "2");
}

TEST(Spec, APlaceholderWithoutAParameterIsAnError) {
  const auto with = [](const std::string& more) { return ProblemOf(std::string(kSmall) + more); };
  EXPECT_NE(ProblemOf("[workload]\ncommand = [\"a\", \"{typo}\"]\n[limits]\ndevice_peak = 1\n").find("{{typo}}"),
            std::string::npos);
  EXPECT_NE(with("[environment]\nNAME = \"{typo}\"\n").find("environment.NAME"), std::string::npos);
  EXPECT_NE(with("[[beside]]\ncommand = [\"{typo}\"]\n").find("beside.command"), std::string::npos);
  EXPECT_NE(with("[quality]\noutput = \"{typo}\"\nreference = \"r\"\n").find("quality.output"), std::string::npos);
  EXPECT_EQ(with("[environment]\nNAME = \"{batch} {{typo}} {}\"\n"), "accepted");
  EXPECT_EQ(with("[environment]\nNAME = \"{rows}\"\n[sweep]\nrows = [1, 2]\n"), "accepted");
  EXPECT_NE(with("[sweep]\n8bit = [1, 2]\n").find("sweep.8bit is no name"), std::string::npos);
}

TEST(Spec, ASweepIsCountedBeforeItIsSpelledOut) {
  std::string text = std::string(kSmall) + "[sweep]\n";
  for (const char name : std::string_view("abcdefghij")) {
    text += std::string(1, name) + " = [1";
    for (int i = 2; i <= 100; ++i) text += ", " + std::to_string(i);
    text += "]\n";
  }
  EXPECT_NE(ProblemOf(text).find("more than 1000 combinations"), std::string::npos);
  EXPECT_NE(ProblemOf(std::string(kSmall) + "[sweep]\nbatch = []\n").find("sweep.batch is empty"), std::string::npos);
}

TEST(Spec, ADraftIsReadAgain) {
  SpecDraft draft;
  draft.name = "a \"name\"\nwith lines";
  draft.source = "From a\nsession.";
  draft.command = {"python", "x \\ y.py", "--flag", "{batch} {other}"};
  draft.parameters = {{"batch", "8"}};
  draft.maximum = {{"batch", 16}};
  draft.device_peak_bytes = (uint64_t{100} << 20) + 1;
  const Result<Spec> spec = ParseSpec(SpecToml(draft));
  ASSERT_TRUE(spec) << spec.error().message << "\n" << SpecToml(draft);
  EXPECT_EQ(Fill(spec->workload.command, spec->parameters), draft.command);
  EXPECT_EQ(spec->maximum.at("batch"), 16);
  EXPECT_EQ(*spec->limits.device_peak_bytes, uint64_t{101} << 20);  // in whole MiB, never less
  EXPECT_FALSE(spec->limits.host_peak_bytes);                       // not known: a comment
}

}  // namespace
}  // namespace memstrata::accept
