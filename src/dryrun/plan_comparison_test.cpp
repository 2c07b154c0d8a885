#include "dryrun/plan_comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace memstrata::dryrun {
namespace {

plan::PlanRequest Gpt2() {
  plan::PlanRequest request;
  request.model = *plan::DescribePreset("gpt2");
  request.workload.batch = 2;
  request.workload.sequence = 64;
  request.card = *plan::FindCard("h100-80g");
  request.searches_largest = false;
  return request;
}

const ComparedTerm& TermOf(const std::vector<ComparedTerm>& terms, std::string_view name) {
  const auto found =
      std::find_if(terms.begin(), terms.end(), [&](const ComparedTerm& term) { return term.term == name; });
  EXPECT_NE(found, terms.end()) << name;
  return *found;
}

TEST(ComparedTerm, AnErrorNeedsBothAndSomethingMeasured) {
  EXPECT_DOUBLE_EQ(*ComparedTerm({"a", 110, 100}).Error(), 0.1);
  EXPECT_DOUBLE_EQ(*ComparedTerm({"a", 90, 100}).Error(), -0.1);
  EXPECT_EQ(ComparedTerm({"a", 90, 100}).DifferenceBytes(), -10);
  EXPECT_EQ(ComparedTerm({"a", 5, 0}).DifferenceBytes(), 5);
  EXPECT_FALSE(ComparedTerm({"a", 5, 0}).Error());
  EXPECT_FALSE(ComparedTerm({"a", 5, std::nullopt}).DifferenceBytes());
}

TEST(PairTerms, TermsOfTheTaskWithWhatWasMeasured) {
  plan::PlanRequest request = Gpt2();
  const plan::Plan training = *plan::MakePlan(request);
  const auto terms = PairTerms(training, {{"term.weights", "7"}, {"phase_peak.backward", "9"}, {"term.logits", "x"}});
  EXPECT_EQ(TermOf(terms, "weights").measured_bytes, 7u);
  EXPECT_EQ(TermOf(terms, "weights").planned_bytes, 124439808u * 2);
  EXPECT_EQ(TermOf(terms, "backward_peak").measured_bytes, 9u);
  EXPECT_EQ(TermOf(terms, "logits").planned_bytes, 2u * 64 * 50257 * 2);
  EXPECT_FALSE(TermOf(terms, "logits").measured_bytes);
  EXPECT_FALSE(TermOf(terms, "gradients").measured_bytes);
  request.workload.task = plan::Task::kGenerate;
  request.workload.new_tokens = 4;
  const auto generating = PairTerms(*plan::MakePlan(request), {});
  EXPECT_EQ(TermOf(generating, "kv_cache").planned_bytes, 12u * 2 * 2 * (64 + 4) * 768 * 2);
  EXPECT_TRUE(std::none_of(generating.begin(), generating.end(),
                           [](const ComparedTerm& term) { return term.term == "gradients"; }));
}

TEST(WhyNotComparable, SaysWhatStandsInTheWay) {
  const auto why = [](auto change) {
    plan::PlanRequest request = Gpt2();
    change(request.workload);
    return WhyNotComparable(request).value_or("");
  };
  EXPECT_EQ(why([](plan::Workload&) {}), "");
  EXPECT_EQ(why([](plan::Workload& workload) { workload.lora_rank = 8; }), "");
  EXPECT_EQ(why([](plan::Workload& workload) { workload.is_compiled = true; }), "");
  EXPECT_EQ(why([](plan::Workload& workload) {
              workload.parallel.data = 8;
              workload.parallel.sharding = plan::Sharding::kZero3;
            }),
            "");
  EXPECT_NE(why([](plan::Workload& workload) { workload.task = plan::Task::kServe; }).find("engine"),
            std::string::npos);
  EXPECT_NE(why([](plan::Workload& workload) { workload.parallel.tensor = 2; }).find("several devices"),
            std::string::npos);
  EXPECT_NE(why([](plan::Workload& workload) { workload.optimizer = plan::OptimizerName::kMuon; }).find("muon"),
            std::string::npos);
  EXPECT_NE(why([](plan::Workload& workload) { workload.adapter = plan::Adapter::kPrompt; }).find("LoRA"),
            std::string::npos);
}

TEST(RequestOfPlan, GivesTheInputsUnderTheirOwnNames) {
  const Result<DryRunRequest> request = RequestOfPlan(Gpt2(), "config.json", "python3");
  ASSERT_TRUE(request);
  const std::vector<std::string>& command = request->command;
  EXPECT_EQ(command[3], "config.json");
  EXPECT_EQ(command[4], "causal");
  EXPECT_NE(std::find(command.begin(), command.end(), "sequence=64"), command.end());
  EXPECT_EQ(request->true_after, 1u);  // the mask of the plan is one of ones
  EXPECT_EQ(request->world_size, 1u);
  plan::PlanRequest sharded = Gpt2();
  sharded.workload.parallel.data = 8;
  EXPECT_EQ(RequestOfPlan(sharded, "config.json", "python3")->world_size, 8u);
}

}  // namespace
}  // namespace memstrata::dryrun
