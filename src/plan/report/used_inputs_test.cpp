#include "plan/report/used_inputs.h"

#include <algorithm>

#include "plan/test_request.h"

namespace memstrata::plan {
namespace {

TEST(UsedInputs, AFloorIsOfThreeInputs) {
  RequestTexts texts;
  texts.parameters = "7e9";
  const Plan floor = *MakePlan(*MakeRequest(texts, FileUse::kRead));
  std::vector<std::string> used;
  for (const auto& [name, value] : EffectiveInputs(floor.workload)) {
    if (IsUsed(floor, name)) used.push_back(name);
  }
  std::sort(used.begin(), used.end());
  EXPECT_EQ(used, (std::vector<std::string>{"parallel", "precision", "weights"}));
}

// An input that is not named as an assumption changes no figure; one that is given is always named.
TEST(UsedInputs, WhatIsNotNamedChangesNothing) {
  const std::pair<const char*, const char*> others[] = {
      {"images", "3"},      {"target-sequence", "77"}, {"grouped-experts", "no"},
      {"concurrency", "9"}, {"batched-tokens", "99"},  {"memory-fraction", "0.5"},
      {"kv-bits", "8"},     {"gathered-tokens", "no"}, {"deferred-head-gradients", "3"}};
  const Plan before = *MakePlan(Request("gpt2", {{"sequence", "128"}}));
  for (const auto& [name, value] : others) {
    EXPECT_FALSE(IsUsed(before, name)) << name;
    const Plan after = *MakePlan(Request("gpt2", {{"sequence", "128"}, {name, value}}));
    EXPECT_EQ(before.devices[0].total_bytes, after.devices[0].total_bytes) << name;
    EXPECT_TRUE(IsUsed(after, name)) << name;
  }
  for (const char* name : {"batch", "sequence", "precision", "optimizer", "recompute", "mask", "engine", "task"})
    EXPECT_TRUE(IsUsed(before, name)) << name;
}

}  // namespace
}  // namespace memstrata::plan
