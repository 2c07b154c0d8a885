// What is alike is not simulated again: tokens of a generation, micro-batches of a step, cards.

#include <algorithm>

#include "plan/ranking.h"
#include "plan/test_request.h"

namespace memstrata::plan {
namespace {

DevicePlan Generated(const char* model, const char* tokens) {
  return MakePlan(Request(model, {{"task", "generate"}, {"sequence", "64"}, {"new-tokens", tokens}}))->devices[0];
}

TEST(AlikeParts, ACacheGrowsByEachTokenThatIsNotRun) {
  // 16 layers, 8 heads of 64, keys and values, 2 B.
  constexpr uint64_t kToken = 16 * 8 * 64 * 2 * 2;
  for (const auto& [text, tokens] : {std::pair{"20", uint64_t{20}}, {"33", uint64_t{33}}, {"5000", uint64_t{5000}}})
    EXPECT_EQ(Generated("llama-3.2-1b", text).states.kv_cache, kToken * (64 + tokens)) << text;
}

TEST(AlikeParts, ThePeakOfALongGenerationGoesWithItsTokens) {
  const auto decode = [](const char* tokens) {
    return static_cast<double>(Generated("llama-3.2-1b", tokens).phase_peaks.at("decode"));
  };
  const double all_run = decode("32");
  const double one_skipped = decode("33");
  const double many_skipped = decode("3232");
  const double each = 16 * 8 * 64 * 2 * 2;  // of the cache, and at most one layer's twice
  EXPECT_GE(one_skipped, all_run);
  EXPECT_LE(one_skipped, all_run + (2 << 20));
  EXPECT_NEAR(many_skipped - all_run, 3200 * each, 3200 * each * 0.15);
}

TEST(AlikeParts, CrossAttentionDoesNotGrow) {
  const DevicePlan short_one = Generated("t5-base", "40");
  const DevicePlan long_one = Generated("t5-base", "400");
  EXPECT_EQ(long_one.states.kv_cache - short_one.states.kv_cache, 12u * 2 * 768 * 2 * 360);
}

TEST(AlikeParts, MicroBatchesBeyondTheThirdChangeNothing) {
  const auto peak = [](const char* accumulation) {
    return MakePlan(Request("gpt2", {{"accumulation", accumulation}, {"sequence", "128"}, {"batch", "8"}}))
        ->devices[0]
        .phase_peaks.at("backward");
  };
  EXPECT_EQ(peak("3"), peak("1000000"));
  EXPECT_GT(peak("3"), peak("1"));  // gradients of the first are there in the backward of the second
}

TEST(AlikeParts, CardsThatAreRankedTogetherHaveTheFiguresThatEachHasAlone) {
  PlanRequest request = Request("gpt2", {{"batch", "16"}, {"sequence", "1024"}});
  request.searches_largest = false;
  std::vector<Card> cards;
  for (const char* name : {"a100-40g", "a100-80g", "t4", "h100-80g", "h200"}) cards.push_back(*FindCard(name));
  const Result<std::vector<Plan>> ranked = RankCards(request, cards);
  ASSERT_TRUE(ranked);
  for (const Plan& plan : *ranked) {
    request.card = plan.target->card;
    const Plan alone = *MakePlan(request);
    EXPECT_EQ(plan.fits, alone.fits) << plan.target->card.id;
    if (plan.fits == true) EXPECT_EQ(plan.WorstDevice().total_bytes, alone.WorstDevice().total_bytes);
  }
}

}  // namespace
}  // namespace memstrata::plan
