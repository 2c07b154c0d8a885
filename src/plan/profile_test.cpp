#include "plan/profile.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/test_request.h"

namespace memstrata::plan {
namespace {

TEST(Profile, IsReadAsItWasWritten) {
  Profile profile = FitProfile({{"a", 100, 130, 200}, {"b", 100, 90, std::nullopt}});
  profile.engine = "torch";
  profile.device = "a \"card\"";
  EXPECT_EQ(profile.peak_offset_bytes.low, -10);
  EXPECT_EQ(profile.peak_offset_bytes.best, 10);
  EXPECT_EQ(profile.peak_offset_bytes.high, 30);
  const Result<Profile> read = ParseProfile(ProfileToml(profile), "p.toml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->device, profile.device);
  EXPECT_EQ(read->session_count, 2);
  EXPECT_EQ(read->peak_offset_bytes.best, 10);
  EXPECT_DOUBLE_EQ(read->reserved_per_allocated->best, 200.0 / 130);
  for (const char* text : {"", "schema = 1", "schema = \"memstrata.plan_profile/1\"\nengine = \"torch\"\nsessions = 1"})
    EXPECT_FALSE(ParseProfile(text, "")) << text;
}

TEST(Profile, FitsTheBuiltInConstantOfItsPlansAnew) {
  const Profile fitted = FitProfile({{"a", 1000, 1100, {}, 0, "simulated_peak"},
                                     {"b", 1000, 1150, {}, 0, "simulated_peak"},
                                     {"c", 2000, 2300, {}, 0, "simulated_peak"}});
  EXPECT_EQ(fitted.peak_constant, "simulated_peak");
  ASSERT_TRUE(fitted.peak_ratio);
  EXPECT_DOUBLE_EQ(fitted.peak_ratio->high, 2300.0 / 2150);  // the middle correction is 150
  EXPECT_DOUBLE_EQ(fitted.peak_ratio->low, 1100.0 / 1150);
  Profile named = fitted;
  named.engine = "torch";
  const Profile read = *ParseProfile(ProfileToml(named), "p.toml");
  EXPECT_EQ(read.peak_constant, "simulated_peak");
  PlanRequest request = Request("gpt2", {{"sequence", "512"}});
  request.profile = read;
  const DevicePlan device = MakePlan(request)->devices[0];
  EXPECT_NEAR(static_cast<double>(device.framework_peak_high_bytes) / static_cast<double>(device.framework_peak_bytes),
              fitted.peak_ratio->high, 1e-6);
  EXPECT_TRUE(FitProfile({{"a", 1, 1, {}, 0, "dense_peak"}, {"b", 1, 1, {}, 0, "expert_peak"}}).peak_constant.empty());
}

TEST(Profile, WhatGoesWithTheWorkIsFittedApart) {
  std::vector<CalibrationSample> samples;
  for (const uint64_t working : {uint64_t{1000}, uint64_t{2000}, uint64_t{4000}})
    samples.push_back({"", 10000 + working, 10000 + working + 300 + working / 4, {}, working});
  const Profile profile = FitProfile(samples);
  ASSERT_TRUE(profile.working_share);
  EXPECT_NEAR(profile.working_share->best, 0.25, 1e-9);
  EXPECT_NEAR(profile.peak_offset_bytes.best, 300, 1e-6);
  const Profile read = *ParseProfile(ProfileToml([&] {
                                       Profile named = profile;
                                       named.engine = "torch";
                                       return named;
                                     }()),
                                     "p.toml");
  PlanRequest request = Request("gpt2", {{"sequence", "1024"}, {"batch", "4"}});
  const DevicePlan before = MakePlan(request)->devices[0];
  request.profile = read;
  const DevicePlan after = MakePlan(request)->devices[0];
  const double added = static_cast<double>(after.framework_peak_bytes - before.framework_peak_bytes);
  EXPECT_NEAR(added, 300 + 0.25 * static_cast<double>(WorkingBytes(before)), 2);
  samples.pop_back();
  EXPECT_FALSE(FitProfile(samples).working_share);  // two do not tell a line from chance
}

TEST(Profile, MeasuredRunsTellWhatAProcessTakesBesideItsFramework) {
  std::vector<CalibrationSample> samples;
  for (const uint64_t context : {uint64_t{500} << 20, uint64_t{700} << 20, uint64_t{600} << 20}) {
    samples.push_back({.recording = "run", .planned_peak_bytes = 1, .measured_peak_bytes = 1});
    samples.back().workload_context_bytes = context;
    samples.back().host_process_bytes = 4 * context;
  }
  samples.push_back({.recording = "snapshot", .planned_peak_bytes = 1, .measured_peak_bytes = 1});
  Profile profile = FitProfile(samples);
  profile.engine = "torch";
  PlanRequest request = Request("gpt2", {{"sequence", "64"}, {"parallel", "dp=2"}}, "h100-80g");
  request.profile = *ParseProfile(ProfileToml(profile), "p.toml");
  const Plan plan = *MakePlan(request);
  const auto line_of = [](const std::vector<Line>& lines, std::string_view term) {
    return *std::find_if(lines.begin(), lines.end(), [&](const Line& line) { return line.term == term; });
  };
  const Line context = line_of(plan.devices[0].lines, "context");
  EXPECT_EQ(context.low_bytes, uint64_t{500} << 20);
  EXPECT_EQ(context.bytes, uint64_t{600} << 20);
  EXPECT_EQ(context.high_bytes, uint64_t{700} << 20);
  EXPECT_EQ(context.basis, Basis::kMeasured);
  EXPECT_EQ(context.source, "p.toml");
  EXPECT_EQ(line_of(plan.host_lines, "processes").bytes, 2 * 4 * (uint64_t{600} << 20));  // two ranks
  samples.resize(1);
  const Constant one = *FitProfile(samples).workload_context_bytes;
  EXPECT_LT(one.low, one.best);  // a single run tells no bounds
  EXPECT_GT(one.high, one.best);
}

TEST(Profile, APlanIsNeverMadeSmaller) {
  PlanRequest request = Request("gpt2", {{"sequence", "64"}});
  const DevicePlan before = MakePlan(request)->devices[0];
  request.profile = FitProfile({{"", 2 << 20, 1 << 20, {}}, {"", 2 << 20, 1 << 20, {}}, {"", 2 << 20, 1 << 20, {}}});
  request.profile->engine = "torch";
  const DevicePlan after = MakePlan(request)->devices[0];
  EXPECT_EQ(after.framework_peak_bytes, before.framework_peak_bytes);
  EXPECT_EQ(after.framework_peak_low_bytes, before.framework_peak_bytes - (1 << 20));
  EXPECT_EQ(after.total_bytes, before.total_bytes);
}

}  // namespace
}  // namespace memstrata::plan
