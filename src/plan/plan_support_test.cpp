// Whether a card can run a workload at all: formats, engines, several of a kind.

#include <algorithm>

#include "plan/ranking.h"
#include "plan/report/plan_report.h"
#include "plan/sweep.h"
#include "plan/test_request.h"

namespace memstrata::plan {
namespace {

bool Says(const std::vector<std::string>& texts, std::string_view part) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

TEST(Workspaces, AreOfTheCardsLibrary) {
  const auto workspace = [](const char* card) {
    const Plan plan = *MakePlan(Request("gpt2", {{"sequence", "64"}}, card));
    for (const Line& line : plan.devices[0].lines) {
      if (line.term == "workspace") return line.bytes;
    }
    return uint64_t{0};
  };
  EXPECT_EQ(workspace("mi300x"), 2 * (uint64_t{128} << 20));
  EXPECT_EQ(workspace("mi250x"), 2 * uint64_t{8'519'680});
  EXPECT_EQ(workspace("h100-80g"), 2 * (uint64_t{32} << 20));
}

TEST(Support, EnginesUnpackWeightsThatACardDoesNotMultiply) {
  const std::initializer_list<std::pair<const char*, const char*>> inputs = {
      {"task", "serve"}, {"engine", "vllm"}, {"weights", "fp8"}};
  const Plan ampere = *MakePlan(Request("llama-3.1-8b", inputs, "a100-40g"));
  EXPECT_EQ(ampere.fits, true) << ampere.verdict;
  EXPECT_TRUE(std::any_of(ampere.diagnostics.begin(), ampere.diagnostics.end(),
                          [](const Diagnostic& diagnostic) { return diagnostic.code == "weight_only"; }));
  EXPECT_EQ(MakePlan(Request("llama-3.1-8b", inputs, "v100-32g"))->fits, false);
  const Plan hopper = *MakePlan(Request("llama-3.1-8b", inputs, "h100-80g"));
  EXPECT_TRUE(std::none_of(hopper.diagnostics.begin(), hopper.diagnostics.end(),
                           [](const Diagnostic& diagnostic) { return diagnostic.code == "weight_only"; }));
}

TEST(Support, ThePrecisionIsAskedForWhateverTheWeightsAre) {
  const Plan plan =
      *MakePlan(Request("llama-3.2-1b", {{"task", "serve"}, {"engine", "vllm"}, {"weights", "int8"}}, "t4"));
  EXPECT_EQ(plan.fits, false);
  EXPECT_EQ(plan.target->unsupported, std::vector<std::string>{"bf16"});
}

TEST(Support, WhatToChangeFirstIsTheFormatWhereThatIsLacking) {
  const Plan plan = *MakePlan(Request("gpt2", {{"sequence", "64"}}, "t4"));
  ASSERT_EQ(plan.fits, false);
  ASSERT_FALSE(plan.changes.empty());
  EXPECT_NE(plan.changes.front().find("compute in fp"), std::string::npos) << plan.changes.front();
  EXPECT_FALSE(Says(plan.changes, "halve the sequence"));  // less memory is no help
  const Plan small = *MakePlan(Request("llama-3.1-8b", {{"task", "serve"}, {"engine", "vllm"}}, "v100-16g"));
  EXPECT_FALSE(Says(small.changes, "fp8"));
}

TEST(Support, SlicesOfACardDoNotWorkTogether) {
  PlanRequest request = Request("llama-3.1-70b", {{"task", "serve"}, {"engine", "vllm"}});
  const std::vector<Plan> plans = *RankCards(request, {*FindCard("h100-mig-1g"), *FindCard("m3-max-128g")});
  for (const Plan& plan : plans) {
    EXPECT_EQ(plan.fits, false);
    EXPECT_EQ(plan.workload.parallel.DeviceCount(), 1);
  }
  const Plan joined =
      *MakePlan(Request("llama-3.2-1b", {{"task", "serve"}, {"engine", "vllm"}, {"parallel", "tp=2"}}, "h100-mig-3g"));
  EXPECT_EQ(joined.fits, false);
  EXPECT_NE(joined.verdict.find("cannot work with others"), std::string::npos) << joined.verdict;
}

TEST(Support, AFloorRulesOutCardsWithoutTheFormat) {
  PlanRequest request;
  request.model = *DescribeCountText("7e9");
  request.card = *FindCard("t4");
  EXPECT_EQ(MakePlan(request)->fits, false);
  ASSERT_TRUE(SetInput(request.workload, "precision", "fp16"));
  EXPECT_EQ(MakePlan(request)->fits, std::nullopt);
}

TEST(Support, JaxHasNoCachingAllocatorAndATpuNoCuda) {
  const Plan plan = *MakePlan(Request("llama-3.1-8b", {{"engine", "jax"}, {"parallel", "fsdp=8"}}, "tpu-v5p"));
  for (const Line& line : plan.devices[0].lines) {
    EXPECT_NE(line.term, "fragmentation");
    EXPECT_NE(line.term, "workspace");
    EXPECT_EQ(line.how.find("CUDA context"), std::string::npos) << line.term;
  }
}

TEST(Support, TheSheetShowsWhatFrameworksSeeAndWhatTheEngineTakes) {
  const Plan plan = *MakePlan(Request("llama-3.1-8b", {{"task", "serve"}, {"engine", "vllm"}}, "l40s"));
  const std::string sheet = SheetText({plan});
  EXPECT_NE(sheet.find("44.4 GiB   40.0 GiB"), std::string::npos) << sheet;
  EXPECT_NE(sheet.find("CPU cores: 1"), std::string::npos);
}

TEST(Sweep, ARangeIsWholeNumbersAndNamesHaveNoBreak) {
  const PlanRequest request = Request("gpt2", {{"sequence", "64"}}, "rtx4090");
  for (const char* bad : {"batch=1..1e9", "batch=1..2x", "batch=..4", "batch=64..1"})
    EXPECT_FALSE(RunSweep(request, bad)) << bad;
  const Sweep names = *RunSweep(Request("gpt2", {{"sequence", "64"}}, "t4"), "precision=fp16,bf16,fp32");
  EXPECT_EQ(names.points[0].fits, true);
  EXPECT_EQ(names.points[1].fits, false);
  EXPECT_FALSE(names.break_point);
}

}  // namespace
}  // namespace memstrata::plan
