#include "plan/model/gguf_mix.h"

#include <gtest/gtest.h>

#include "plan/model/model_description.h"
#include "plan/sharded_states.h"

namespace memstrata::plan {
namespace {

double BitsEach(const ModelDescription& model, const char* mix) {
  Workload workload;
  EXPECT_TRUE(SetInput(workload, "engine", "llama.cpp"));
  EXPECT_TRUE(SetInput(workload, "weights", mix));
  const RankParameters rank = ParametersOfRank(model, workload, 0);
  return rank.weight_bits / static_cast<double>(rank.Total());
}

struct PublishedBits {
  const char* mix;
  double bits;
};

class LlamaMix : public testing::TestWithParam<PublishedBits> {};

// The README of llama.cpp's quantizer, Llama 3.1 8B.
TEST_P(LlamaMix, HasThePublishedBitsOfAWeight) {
  EXPECT_NEAR(BitsEach(*DescribePreset("llama-3.1-8b"), GetParam().mix), GetParam().bits, 0.0006);
}

INSTANTIATE_TEST_SUITE_P(Published, LlamaMix,
                         testing::Values(PublishedBits{"iq1_s", 2.004}, PublishedBits{"iq2_xxs", 2.382},
                                         PublishedBits{"iq2_m", 2.929}, PublishedBits{"q2_k", 3.159},
                                         PublishedBits{"iq3_m", 3.763}, PublishedBits{"q3_k_l", 4.298},
                                         PublishedBits{"iq4_xs", 4.460}, PublishedBits{"q4_k_s", 4.667},
                                         PublishedBits{"q4_k_m", 4.894}, PublishedBits{"q5_k_m", 5.704},
                                         PublishedBits{"q6_k", 6.563}, PublishedBits{"q8_0", 8.501}),
                         [](const auto& param) { return std::string(param.param.mix); });

TEST(GgufMix, TheBitsOfACountOfParametersAreThoseOfLlama) {
  const ModelDescription llama = *DescribePreset("llama-3.1-8b");
  for (const char* mix : {"q2_k", "q3_k_s", "q3_k_m", "q3_k_l", "q4_0", "q4_k_s", "q4_k_m", "q5_0", "q5_k_s", "q5_k_m",
                          "q6_k", "q8_0", "iq1_s", "iq2_xxs", "iq2_m", "iq3_m", "iq4_xs"}) {
    Workload workload;
    ASSERT_TRUE(SetInput(workload, "weights", mix));
    EXPECT_NEAR(BitsEach(llama, mix), NominalMixBits(workload.weight_format), 0.0006) << mix;
  }
}

TEST(GgufMix, LargeModelsKeepFewerLayersBetter) {
  EXPECT_NEAR(BitsEach(*DescribePreset("llama-3.1-70b"), "q4_k_m"), 4.82, 0.005);  // gguf-parser
}

TEST(GgufMix, AFileInThePrecisionHasVectorsInFloat32) {
  EXPECT_NEAR(BitsEach(*DescribePreset("llama-3.1-8b"), "same"), 16.0005, 0.0001);
}

double BitsOf(const char* name, std::vector<int64_t> shape, Role role, const char* mix, const GgufMixModel& model) {
  Workload workload;
  EXPECT_TRUE(SetInput(workload, "weights", mix));
  return GgufBits({name, std::move(shape), role, 1}, workload.weight_format, Precision::kBfloat16, model);
}

TEST(GgufMix, RowsThatBlocksDoNotDivideFallBack) {
  const GgufMixModel model{32, 4, 0, false, false};
  const auto bits = [&](int64_t row, const char* mix) {
    return BitsOf("layers.1.up_proj.weight", {64, row}, Role::kColumn, mix, model);
  };
  EXPECT_EQ(bits(4096, "q4_k_m"), 4.5);
  EXPECT_EQ(bits(2880, "q4_k_m"), 5.5);  // Q5_0
  EXPECT_EQ(bits(2880, "q5_k_s"), 6.0);  // Q5_1
  EXPECT_EQ(bits(2880, "q6_k"), 8.5);    // Q8_0
  EXPECT_EQ(bits(2880, "q2_k"), 4.5);    // IQ4_NL
  EXPECT_EQ(bits(100, "q4_k_m"), 16.0);
}

TEST(GgufMix, SmallAndSensitiveTensorsStay) {
  GgufMixModel model{32, 4, 8, false, false};
  EXPECT_EQ(BitsOf("layers.1.router.weight", {8, 4096}, Role::kRouter, "q4_k_m", model), 32.0);
  EXPECT_EQ(BitsOf("layers.1.input_norm.weight", {4096}, Role::kNorm, "q4_k_m", model), 32.0);
  EXPECT_EQ(BitsOf("layers.1.v_proj.weight", {1024, 4096}, Role::kColumn, "q4_k_m", model), 8.5);  // eight experts
  EXPECT_EQ(BitsOf("layers.1.o_proj.weight", {4096, 4096}, Role::kRow, "q4_k_m", model), 5.5);
  EXPECT_EQ(BitsOf("vision.blocks.0.q.weight", {1024, 1024}, Role::kColumn, "q4_k_m", model), 16.0);
  EXPECT_EQ(BitsOf("embed_tokens.weight", {32000, 4096}, Role::kEmbedding, "q4_k_m", model), 4.5);
  model.ties_head = true;
  EXPECT_EQ(BitsOf("embed_tokens.weight", {32000, 4096}, Role::kEmbedding, "q4_k_m", model), 6.5625);
}

}  // namespace
}  // namespace memstrata::plan
