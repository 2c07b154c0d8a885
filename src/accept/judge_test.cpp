#include "accept/judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "accept/acceptance.h"

namespace memstrata::accept {
namespace {

constexpr uint64_t kGib = uint64_t{1} << 30;

Measured Exactly(double value) { return {value, false, "Counted."}; }

// A workload of which everything is asked and everything is fine.
Spec FullSpec() {
  Spec spec;
  spec.parameters = {{"tokens", "4096"}};
  spec.maximum = {{"tokens", 4096}};
  spec.limits = {.device_peak_bytes = 70 * kGib,
                 .framework_peak_bytes = 60 * kGib,
                 .host_peak_bytes = 30 * kGib,
                 .run_time_s = 100,
                 .iteration_time_s = 2,
                 .throughput_per_s = 1,
                 .items_per_iteration = 4,
                 .error_count = 0,
                 .allocator_retry_count = 0,
                 .growth_bytes = 1 << 20};
  spec.margin.is_asked = true;
  spec.quality.command = {"evaluate"};
  spec.quality.minimum = 0.7;
  return spec;
}

RepeatFigures Good() {
  RepeatFigures figures;
  DeviceFigures device;
  device.id = "device 0";
  device.capacity_bytes = 80 * kGib;
  device.used_bytes = Exactly(60.0 * kGib);
  device.framework_bytes = Exactly(55.0 * kGib);
  device.used_by_others = false;
  figures.devices = {device};
  figures.host_bytes = Exactly(10.0 * kGib);
  figures.cpu_time_s = Exactly(50);
  figures.read_bytes = Exactly(4096);
  figures.written_bytes = Exactly(0);
  figures.run_time_s = Exactly(60);
  figures.iteration_time_s = Exactly(1);
  figures.growth_bytes = Exactly(0);
  figures.retry_count = Exactly(0);
  figures.quality = Exactly(0.8);
  figures.quality_text = "The quality is 0.8.";
  figures.frameworks = {"torch 2.7.1"};
  return figures;
}

struct Case {
  const char* name;
  Verdict verdict;
  const char* check;  // the one that is not passed
  std::function<void(RepeatFigures&)> change;
};

Verdict VerdictOf(const std::vector<Check>& checks, const std::string& name) {
  Verdict verdict = Verdict::kPass;
  for (const Check& check : checks) {
    if (check.name == name) verdict = Both(verdict, check.verdict);
  }
  return verdict;
}

TEST(Judge, EverythingWithinItsLimitPasses) {
  const std::vector<Check> checks = Judge(FullSpec(), {Good(), Good(), Good()});
  EXPECT_EQ(checks.size(), 12u);
  for (const Check& check : checks) EXPECT_EQ(check.verdict, Verdict::kPass) << check.name << ": " << check.text;
  EXPECT_EQ(Overall(checks), Verdict::kPass);
}

TEST(Judge, EachCheckFailsOrStaysOpenByItself) {
  const Case cases[] = {
      {"device", Verdict::kFail, "device_peak", [](RepeatFigures& f) { f.devices[0].used_bytes.value = 71.0 * kGib; }},
      {"framework", Verdict::kFail, "framework_peak",
       [](RepeatFigures& f) { f.devices[0].framework_bytes.value = 61.0 * kGib; }},
      {"host", Verdict::kFail, "host_peak", [](RepeatFigures& f) { f.host_bytes.value = 31.0 * kGib; }},
      {"run", Verdict::kFail, "time", [](RepeatFigures& f) { f.run_time_s.value = 101; }},
      {"iteration", Verdict::kFail, "time", [](RepeatFigures& f) { f.iteration_time_s.value = 3; }},
      {"throughput", Verdict::kFail, "throughput", [](RepeatFigures& f) { f.iteration_time_s.value = 5; }},
      {"errors", Verdict::kFail, "errors", [](RepeatFigures& f) { f.error_count = 1; }},
      {"retries", Verdict::kFail, "allocator_retries", [](RepeatFigures& f) { f.retry_count.value = 1; }},
      {"growth", Verdict::kFail, "growth", [](RepeatFigures& f) { f.growth_bytes.value = 2 << 20; }},
      {"quality", Verdict::kFail, "quality", [](RepeatFigures& f) { f.quality.value = 0.6; }},
      {"not a number", Verdict::kFail, "quality", [](RepeatFigures& f) { f.quality.value = NAN; }},
      {"bound", Verdict::kUndecided, "device_peak",
       [](RepeatFigures& f) { f.devices[0].used_bytes.is_lower_bound = true; }},
      {"bound over", Verdict::kFail, "device_peak",
       [](RepeatFigures& f) {
         f.devices[0].used_bytes = {71.0 * kGib, true, ""};
       }},
      {"others", Verdict::kUndecided, "device_peak", [](RepeatFigures& f) { f.devices[0].used_by_others = true; }},
      {"others over", Verdict::kUndecided, "device_peak",
       [](RepeatFigures& f) {
         f.devices[0].used_by_others = true;
         f.devices[0].used_bytes.value = 71.0 * kGib;
       }},
      {"others and margin", Verdict::kUndecided, "margin",
       [](RepeatFigures& f) { f.devices[0].used_by_others = true; }},
      {"interrupted", Verdict::kUndecided, "errors", [](RepeatFigures& f) { f.was_interrupted = true; }},
      {"no device", Verdict::kUndecided, "device_peak", [](RepeatFigures& f) { f.devices.clear(); }},
      {"unknown host", Verdict::kUndecided, "host_peak", [](RepeatFigures& f) { f.host_bytes.value = {}; }},
      {"unknown quality", Verdict::kUndecided, "quality", [](RepeatFigures& f) { f.quality.value = {}; }},
      {"unknown retries", Verdict::kUndecided, "allocator_retries", [](RepeatFigures& f) { f.retry_count.value = {}; }},
      {"unknown growth", Verdict::kUndecided, "growth", [](RepeatFigures& f) { f.growth_bytes.value = {}; }},
  };
  for (const Case& one : cases) {
    for (size_t bad = 0; bad < 3; ++bad) {  // whichever repeat it is
      std::vector<RepeatFigures> repeats = {Good(), Good(), Good()};
      one.change(repeats[bad]);
      const std::vector<Check> checks = Judge(FullSpec(), repeats);
      EXPECT_EQ(VerdictOf(checks, one.check), one.verdict) << one.name << " in repeat " << bad;
      EXPECT_NE(Overall(checks), Verdict::kPass) << one.name;
    }
  }
}

TEST(Judge, EachDeviceIsJudgedByItself) {
  RepeatFigures two = Good();
  two.devices.push_back(two.devices[0]);
  two.devices[1].id = "device 1";
  two.devices[1].used_bytes.value = 79.9 * kGib;
  Spec spec = FullSpec();
  spec.limits.device_peak_bytes = 80 * kGib;
  const std::vector<Check> checks = Judge(spec, {two});
  EXPECT_EQ(VerdictOf(checks, "device_peak"), Verdict::kPass);  // the sum is above, no single one is
  EXPECT_EQ(VerdictOf(checks, "margin"), Verdict::kFail);       // of device 1: 2 % are assumed for one repeat
}

TEST(Judge, ADeviceThatNoFrameworkUsesDoesNotOpenTheFrameworksPeak) {
  RepeatFigures two = Good();
  two.devices.push_back(two.devices[0]);
  two.devices[1].framework_bytes.value = {};
  EXPECT_EQ(VerdictOf(Judge(FullSpec(), {two}), "framework_peak"), Verdict::kPass);
  two.devices[0].framework_bytes.value = {};
  EXPECT_EQ(VerdictOf(Judge(FullSpec(), {two}), "framework_peak"), Verdict::kUndecided);
}

TEST(Judge, ALearnedMarginIsWhatTheRepeatsScatterBy) {
  std::vector<RepeatFigures> calm = {Good(), Good(), Good()};
  std::vector<RepeatFigures> wild = calm;
  wild[0].devices[0].used_bytes.value = 50.0 * kGib;
  wild[1].devices[0].used_bytes.value = 69.0 * kGib;
  EXPECT_EQ(VerdictOf(Judge(FullSpec(), calm), "margin"), Verdict::kPass);
  EXPECT_EQ(VerdictOf(Judge(FullSpec(), wild), "margin"), Verdict::kFail);
  Spec given = FullSpec();
  given.margin.given = GivenTolerance{.fraction = 0.3, .amount = {}};
  EXPECT_EQ(VerdictOf(Judge(given, calm), "margin"), Verdict::kFail);  // 20 of 80 GiB are free, 24 asked for
}

TEST(Judge, SaysWhatPartOfTheMaximumWasMeasured) {
  Spec spec = FullSpec();
  spec.parameters["tokens"] = "512";
  const std::vector<Check> checks = Judge(spec, {Good()});
  EXPECT_EQ(VerdictOf(checks, "coverage"), Verdict::kUndecided);
  ASSERT_EQ(CoverageGaps(spec).size(), 1u);
  EXPECT_EQ(CoverageGaps(spec)[0], "You measured 512 of 4,096 tokens.");
}

TEST(Checklist, AFullRunTicksAll) {
  Spec spec = FullSpec();
  Identity identity;
  identity.inputs = {{"prompts.json", 10, "0123"}};
  const Acceptance acceptance = Conclude(spec, {Good(), Good(), Good()}, identity);
  ASSERT_EQ(acceptance.checklist.size(), 11u);
  for (const ChecklistItem& item : acceptance.checklist) EXPECT_TRUE(item.is_done) << item.item << ": " << item.text;
}

TEST(Checklist, OneUnknownOfHostCpuAndStorageLeavesThatLineOpen) {
  for (Measured RepeatFigures::*member : {&RepeatFigures::host_bytes, &RepeatFigures::cpu_time_s,
                                          &RepeatFigures::read_bytes, &RepeatFigures::written_bytes}) {
    std::vector<RepeatFigures> repeats = {Good(), Good()};
    (repeats[1].*member).value.reset();
    for (const ChecklistItem& item : Conclude(FullSpec(), repeats, {}).checklist) {
      if (item.item != "host memory, CPU and storage") continue;
      EXPECT_FALSE(item.is_done);
      EXPECT_NE(item.text.find("not known"), std::string::npos);
    }
  }
}

TEST(Checklist, ABareRunTicksNothingThatItDidNotShow) {
  Spec spec;
  spec.limits.host_peak_bytes = kGib;
  RepeatFigures bare;
  bare.host_bytes = Exactly(1 << 20);
  for (const ChecklistItem& item : Conclude(spec, {bare}, {}).checklist) {
    EXPECT_FALSE(item.is_done) << item.item;
    EXPECT_FALSE(item.text.empty()) << item.item;
  }
}

SweepRow Row(double memory, double latency, std::optional<double> quality, Verdict verdict = Verdict::kPass) {
  SweepRow row;
  row.verdict = verdict;
  row.memory_bytes = memory;
  row.latency_s = latency;
  row.quality = quality;
  return row;
}

TEST(Sweep, MarksWhatNoOtherRowBeats) {
  std::vector<SweepRow> rows = {Row(10, 1, 0.9), Row(5, 2, 0.9), Row(11, 1, 0.9), Row(5, 2, 0.8),
                                Row(1, 1, 0.9, Verdict::kFail)};
  MarkPareto(rows, true);
  const std::vector<bool> expected = {true, true, false, false, false};
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].is_pareto, expected[i]) << i;
  MarkPareto(rows, false);  // an error rate: the lower one wins
  EXPECT_FALSE(rows[1].is_pareto);
  EXPECT_TRUE(rows[3].is_pareto);
}

TEST(Sweep, WhatLiesWithinTheScatterOfTheRepeatsIsEqual) {
  std::vector<SweepRow> rows = {Row(10.0, 2, 0.9), Row(10.1, 1, 0.9)};
  rows[0].memory_scatter = 0.02;  // it takes less by 1 %
  MarkPareto(rows, true);
  EXPECT_FALSE(rows[0].is_pareto);
  EXPECT_TRUE(rows[1].is_pareto);
}

TEST(Sweep, ALowerBoundIsBelowNothing) {
  std::vector<SweepRow> rows = {Row(5, 2, 0.9), Row(10, 1, 0.9)};
  MarkPareto(rows, true);
  EXPECT_TRUE(rows[0].is_pareto);
  rows[0].is_lower_bound = true;
  MarkPareto(rows, true);
  EXPECT_FALSE(rows[0].is_pareto);
  rows[0].memory_bytes = 20;  // surely more
  rows[1].latency_s = 3;
  MarkPareto(rows, true);
  EXPECT_TRUE(rows[0].is_pareto && rows[1].is_pareto);
}

TEST(Sweep, AWinByThroughputAloneIsOne) {
  std::vector<SweepRow> rows = {Row(10, 1, 0.9), Row(20, 2, 0.9)};
  MarkPareto(rows, true);
  EXPECT_FALSE(rows[1].is_pareto);
  rows[0].throughput_per_s = 1;
  rows[1].throughput_per_s = 32;
  MarkPareto(rows, true);
  EXPECT_TRUE(rows[0].is_pareto && rows[1].is_pareto);
}

TEST(Sweep, MemoryOfADeviceAndOfTheHostAreNotCompared) {
  std::vector<SweepRow> rows = {Row(10, 1, 0.9), Row(20, 2, 0.9)};
  rows[0].memory_basis = "host";
  rows[1].memory_basis = "device";
  MarkPareto(rows, true);
  EXPECT_TRUE(rows[1].is_pareto);
}

TEST(Sweep, AParameterSaysHowManyItems) {
  Spec spec = FullSpec();
  EXPECT_EQ(ItemsPerIteration(spec), 4);
  spec.limits.items_parameter = "tokens";
  EXPECT_EQ(ItemsPerIteration(spec), 4096);
}

TEST(Redaction, OnlyNumbersStayOfParameters) {
  std::map<std::string, std::string> parameters = {{"batch", "8"}, {"rate", "1e-3"}, {"prompts", "/home/p.json"}};
  RedactParameters(parameters);
  EXPECT_EQ(parameters, (std::map<std::string, std::string>{{"batch", "8"}, {"rate", "1e-3"}, {"prompts", "removed"}}));
}

TEST(Judge, AGrowthOfTheDeviceSaysThatTheHostIsNotLookedAt) {
  Spec spec = FullSpec();
  RepeatFigures repeat = Good();
  repeat.growth_bytes.basis = "What PyTorch holds on the devices.";
  const auto text = [&] {
    for (const Check& check : Judge(spec, {repeat})) {
      if (check.name == "growth") return check.text;
    }
    return std::string();
  };
  EXPECT_NE(text().find("The host is not looked at"), std::string::npos);
  spec.limits.host_growth_bytes = 1;
  EXPECT_EQ(text().find("The host is not looked at"), std::string::npos);
}

TEST(Judge, TheReasonIsThatOfTheFigureThatIsALowerBound) {
  std::vector<RepeatFigures> repeats = {Good(), Good()};
  repeats[1].devices[0].used_bytes = {59.0 * kGib, true, "A sample was missed."};
  for (const Check& check : Judge(FullSpec(), repeats)) {
    if (check.name == "device_peak") EXPECT_NE(check.text.find("A sample was missed."), std::string::npos);
  }
}

TEST(Figures, GrowthAndTimeLeaveTheWarmupOut) {
  const std::vector<Iteration> iterations = {{true, 9'000'000'000, 0, 0},
                                             {false, 1'000'000'000, 100, 5},
                                             {false, 3'000'000'000, 150, 5},
                                             {false, 2'000'000'000, 200, 5}};
  EXPECT_DOUBLE_EQ(*GrowthOf(iterations).value, 50);
  EXPECT_DOUBLE_EQ(*MedianTimeOf(iterations).value, 2);
  EXPECT_FALSE(GrowthOf({iterations[0], iterations[1]}).value);
  EXPECT_DOUBLE_EQ(*HostGrowthOf(iterations).value, 0);
}

}  // namespace
}  // namespace memstrata::accept
