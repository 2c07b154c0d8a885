#include "plan/plan.h"

#include <gtest/gtest.h>

#include "plan/constants.h"
#include "plan/plan_grid.h"
#include "plan/ranking.h"
#include "plan/report/plan_report.h"
#include "plan/request_file.h"
#include "plan/sharded_states.h"
#include "plan/sweep.h"
#include "plan/test_request.h"

namespace memstrata::plan {
namespace {

TEST(Plan, LinesAddUpToTheDevice) {
  for (const char* task : {"train", "forward", "generate", "serve"}) {
    const Result<Plan> plan = MakePlan(Request("llama-3.2-1b", {{"task", task}, {"sequence", "256"}}, "h100-80g"));
    ASSERT_TRUE(plan) << task;
    uint64_t sum = 0;
    for (const Line& line : plan->devices[0].lines) {
      sum += line.bytes;
      EXPECT_LE(line.low_bytes, line.bytes) << line.term;
      EXPECT_GE(line.high_bytes, line.bytes) << line.term;
      EXPECT_FALSE(line.how.empty()) << line.term;
      EXPECT_FALSE(line.source.empty()) << line.term;
    }
    EXPECT_EQ(sum, plan->devices[0].total_bytes) << task;
  }
}

TEST(Plan, AdamWStatesAreTwiceTheTrainedParameters) {
  const Result<Plan> plan = MakePlan(Request("gpt2", {{"precision", "fp32"}, {"sequence", "64"}}));
  ASSERT_TRUE(plan);
  const StateBytes& states = plan->devices[0].states;
  EXPECT_EQ(states.parameters, 124439808u * 4);
  EXPECT_EQ(states.gradients, states.parameters);
  EXPECT_EQ(states.optimizer_state, 2 * states.parameters);
}

TEST(Plan, RecomputingTradesActivationsForOneMoreForward) {
  const Result<Plan> kept = MakePlan(Request("llama-3.2-1b", {{"batch", "4"}}));
  const Result<Plan> recomputed = MakePlan(Request("llama-3.2-1b", {{"batch", "4"}, {"recompute", "full"}}));
  ASSERT_TRUE(kept && recomputed);
  EXPECT_LT(recomputed->devices[0].states.activations_end_of_forward,
            kept->devices[0].states.activations_end_of_forward / 2);
}

TEST(Plan, TheVerdictFollowsTheAllocatorOnTheCard) {
  EXPECT_EQ(MakePlan(Request("llama-3.2-1b", {{"batch", "1"}, {"sequence", "512"}}, "h100-80g"))->fits, true);
  EXPECT_EQ(MakePlan(Request("llama-3.1-8b", {{"batch", "1"}, {"sequence", "512"}}, "rtx4090"))->fits, false);
}

TEST(Plan, EnoughMemoryIsNotEnoughWithoutTheNumberFormat) {
  const Result<Plan> plan = MakePlan(Request("gpt2", {{"sequence", "64"}}, "v100-32g"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->fits, false);
  EXPECT_NE(plan->verdict.find("does not compute in bf16"), std::string::npos);
}

TEST(Plan, AFloorNeverSaysThatItFits) {
  PlanRequest request;
  request.model = *DescribeCountText("7e9");
  EXPECT_EQ(MakePlan(request)->devices[0].total_bytes, 14000000000u);
  request.card = *FindCard("h100-80g");
  EXPECT_EQ(MakePlan(request)->fits, std::nullopt);
  request.card = *FindCard("8GiB");
  EXPECT_EQ(MakePlan(request)->fits, false);
}

// Keys of a decoder under a type that nobody knows.
PlanRequest UnknownModel(const char* card) {
  PlanRequest request = Request("llama-3.1-8b", {{"task", "serve"}, {"engine", "vllm"}, {"sequence", "8192"}}, card);
  request.model = *DescribeConfig(R"({"model_type": "unheard", "hidden_size": 4096, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256})",
                                  "unheard");
  return request;
}

TEST(Plan, AnAssumedStructureNeverFits) {
  const Result<Plan> plan = MakePlan(UnknownModel("b200"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->fits, std::nullopt);
  EXPECT_EQ(plan->fits_at_high, std::nullopt);
  EXPECT_TRUE(plan->verdict.starts_with("Cannot tell")) << plan->verdict;
  EXPECT_EQ(plan->kv_tokens, std::nullopt);
  EXPECT_EQ(plan->largest.concurrency, std::nullopt);
  for (const Line& line : plan->devices.front().lines) {
    if (line.term != "weights" && line.term != "kv_cache") continue;
    EXPECT_EQ(line.basis, Basis::kAssumed);
    EXPECT_LT(line.low_bytes, line.bytes / 10);
    EXPECT_GT(line.high_bytes, 6 * line.bytes);
  }
  for (const Line& line : plan->storage_lines) EXPECT_EQ(line.basis, Basis::kAssumed) << line.term;
  const Plan impossible = *MakePlan(UnknownModel("512MiB"));  // less than the low bound
  EXPECT_EQ(impossible.fits, false);
  PlanRequest slices = UnknownModel("h100-mig-3g");
  EXPECT_EQ(MakePlan(slices)->fits, std::nullopt);
  ASSERT_TRUE(SetInput(slices.workload, "parallel", "tp=2"));  // slices do not work together, whatever the model is
  EXPECT_EQ(MakePlan(slices)->fits, false);
}

TEST(Plan, EachStageHasItsOwnDevice) {
  const Result<Plan> plan = MakePlan(
      Request("llama-3.1-8b", {{"engine", "megatron"}, {"parallel", "tp=2,pp=4,dp=2,zero=1"}, {"accumulation", "8"}}));
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->devices.size(), 4u);
  uint64_t parameters = 0;
  for (const DevicePlan& device : plan->devices) parameters += device.states.parameters;
  EXPECT_NEAR(static_cast<double>(parameters), 8030261248.0,
              8030261248.0 * 0.01);  // 2 B, half of each tensor; norms twice
}

TEST(Plan, UnevenStagesShareTheLayersBetweenThem) {
  Parallel parallel;
  parallel.pipeline = 4;
  EXPECT_EQ(StageLayers(12, 1, parallel), (std::pair<int64_t, int64_t>{3, 6}));
  parallel.first_stage_layers = 2;
  parallel.last_stage_layers = 1;
  EXPECT_EQ(StageLayers(12, 0, parallel), (std::pair<int64_t, int64_t>{0, 2}));
  EXPECT_EQ(StageLayers(12, 1, parallel), (std::pair<int64_t, int64_t>{2, 6}));
  EXPECT_EQ(StageLayers(12, 2, parallel), (std::pair<int64_t, int64_t>{6, 11}));
  EXPECT_EQ(StageLayers(12, 3, parallel), (std::pair<int64_t, int64_t>{11, 12}));
}

TEST(Plan, ExpertsAreDividedAmongRanksOfTheirOwn) {
  const ModelDescription model = *DescribePreset("mixtral-8x7b");
  Workload workload;
  ASSERT_TRUE(SetInput(workload, "parallel", "tp=2,ep=4,dp=4"));
  const int64_t divided = ParametersOfRank(model, workload, 0).experts;
  ASSERT_TRUE(SetInput(workload, "parallel", "etp=1"));
  EXPECT_EQ(ParametersOfRank(model, workload, 0).experts, 2 * divided);
  // Four groups of experts do not divide two data-parallel ranks: an expert is whole, unless the request says
  // otherwise.
  Workload whole;
  ASSERT_TRUE(SetInput(whole, "parallel", "tp=2,ep=4,dp=2"));
  EXPECT_EQ(whole.parallel.ExpertTensor(), 1);
  PlanRequest request = Request("mixtral-8x7b", {{"parallel", "tp=2,ep=4,etp=2,dp=2"}});
  const Result<Plan> refused = MakePlan(request);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("groups of experts"), std::string::npos) << refused.error().message;
}

uint64_t BytesOf(const Plan& plan, std::string_view term) {
  uint64_t bytes = 0;
  for (const Line& line : plan.devices.back().lines) bytes += line.term == term ? line.bytes : 0;
  return bytes;
}

TEST(Plan, GroupedProductsOfExpertsHaveWorkspacesOnTheirStreams) {
  const auto workspace = [](const char* model, const char* grouped, const char* card) {
    return BytesOf(*MakePlan(Request(model, {{"engine", "megatron"}, {"grouped-experts", grouped}}, card)),
                   "grouped_workspace");
  };
  EXPECT_EQ(workspace("mixtral-8x7b", "yes", "h100-80g"), uint64_t{4 * 32} << 20);
  EXPECT_EQ(workspace("mixtral-8x7b", "yes", "a100-80g"), uint64_t{4 * 4} << 20);
  EXPECT_EQ(workspace("mixtral-8x7b", "no", "h100-80g"), 0u);
  EXPECT_EQ(workspace("llama-3.1-8b", "yes", "h100-80g"), 0u);
}

TEST(Plan, ACardWithoutCudaHasNoWorkspacesOfIt) {
  const Plan plan = *MakePlan(Request("mixtral-8x7b", {{"engine", "megatron"}, {"sequence", "256"}}, "tpu-v5p"));
  for (const Line& line : plan.devices[0].lines) {
    EXPECT_NE(line.term, "workspace");
    EXPECT_NE(line.term, "grouped_workspace");
  }
}

TEST(Plan, TrainingInFullIsInThePrecisionWhateverTheWeightsAreReadFrom) {
  PlanRequest request = Request("llama-3.2-1b", {{"sequence", "256"}}, "h100-80g");
  const Plan plain = *MakePlan(request);
  request.model.stored_format = WeightFormat::kFp8;
  EXPECT_EQ(MakePlan(request)->devices[0].states.parameters, plain.devices[0].states.parameters);
  request.workload.task = Task::kForward;
  EXPECT_LT(MakePlan(request)->devices[0].states.parameters, plain.devices[0].states.parameters);
}

TEST(Plan, ALayerThatForetellsBringsWeightsAndScoresOnTheLastStage) {
  PlanRequest request = Request("llama-3.2-1b", {{"engine", "megatron"}, {"parallel", "pp=2"}, {"accumulation", "2"}});
  const Plan plain = *MakePlan(request);
  DecoderSpec spec = *request.model.decoder();
  spec.prediction_layers = 1;
  request.model = DescribeDecoder(spec, "foretells", "test");
  const Plan foretells = *MakePlan(request);
  // Megatron holds 6 bytes of each score; the further pass leaves 4 more.
  EXPECT_EQ(6 * BytesOf(foretells, "logits"), 10 * BytesOf(plain, "logits"));
  // One more layer, a product of 2 h x h, and three norms; all in 16 bits.
  const int64_t layer = ParametersOfRank(DescribeDecoder(spec, "", ""), request.workload, 0).largest_layer;
  const int64_t added = layer + 2 * spec.hidden * spec.hidden + 3 * spec.hidden;
  EXPECT_EQ(BytesOf(foretells, "weights") - BytesOf(plain, "weights"), static_cast<uint64_t>(2 * added));
  EXPECT_EQ(foretells.devices.front().total_bytes, plain.devices.front().total_bytes);
}

TEST(Plan, DeferredHeadGradientsKeepScoresOfSeveralMicroBatches) {
  const Plan plan = *MakePlan(
      Request("llama-3.1-8b",
              {{"engine", "megatron"}, {"accumulation", "8"}, {"sequence", "1024"}, {"deferred-head-gradients", "2"}}));
  EXPECT_EQ(BytesOf(plan, "deferred_head"), uint64_t{2 * 1024} * (128256 + 4096) * 2);
}

TEST(Plan, AServingEngineIsJudgedByTheShareThatItTakes) {
  PlanRequest request =
      Request("llama-3.1-8b", {{"task", "serve"}, {"engine", "vllm"}, {"sequence", "8192"}}, "h100-80g");
  request.searches_largest = true;
  const Plan plan = *MakePlan(request);
  ASSERT_TRUE(plan.largest.concurrency && plan.kv_tokens);
  EXPECT_LE(*plan.largest.concurrency * 8192, *plan.kv_tokens);
  EXPECT_GT((*plan.largest.concurrency + 1) * 8192, *plan.kv_tokens);
  ASSERT_TRUE(SetInput(request.workload, "memory-fraction", "0.1"));
  EXPECT_EQ(MakePlan(request)->fits, false);
}

TEST(Plan, AMarginWithinTheErrorIsSaid) {
  PlanRequest request = Request("llama-3.1-8b", {{"engine", "megatron"}, {"parallel", "dp=8,zero=1"}});
  const DevicePlan device = MakePlan(request)->WorstDevice();
  request.card =
      Card{.id = "between", .name = "between", .visible_bytes = (device.total_bytes + device.high_bytes) / 2};
  const Plan plan = *MakePlan(request);
  EXPECT_EQ(plan.fits, true);
  EXPECT_EQ(plan.fits_at_high, false);
  EXPECT_NE(plan.verdict.find("does not cover"), std::string::npos) << plan.verdict;
}

TEST(Plan, ACheckpointDoesNotShrinkWhenItIsSharded) {
  const auto checkpoint = [](const char* parallel) {
    return MakePlan(Request("llama-3.1-8b", {{"engine", "megatron"}, {"parallel", parallel}}))
        ->storage_lines.back()
        .bytes;
  };
  EXPECT_EQ(checkpoint("dp=1"), uint64_t{8030261248} * (2 + 12));
  EXPECT_EQ(checkpoint("tp=4,dp=2,zero=1"), checkpoint("dp=1"));
  EXPECT_EQ(checkpoint("pp=2,dp=8,zero=1"), checkpoint("dp=1"));
}

TEST(Plan, DataParallelismOfPyTorchHasBucketsAndTheOptimizersTemporaries) {
  const Plan plan = *MakePlan(Request("llama-3.2-1b", {{"sequence", "256"}, {"parallel", "dp=2"}}));
  const uint64_t weights = plan.devices[0].states.parameters;
  EXPECT_EQ(plan.devices[0].peak_phase, "optimizer");
  EXPECT_EQ(BytesOf(plan, "communication"), weights);
  EXPECT_EQ(BytesOf(plan, "optimizer_transient"), weights);
  EXPECT_EQ(BytesOf(plan, "logits"), 0u);  // gone by then
}

TEST(Plan, SupportOfTheEngineComesBeforeMemory) {
  const Plan plan = *MakePlan(Request("llama-3.2-1b", {{"engine", "megatron"}, {"sequence", "256"}}, "tpu-v5p"));
  EXPECT_EQ(plan.fits, false);
  EXPECT_NE(plan.verdict.find("enough memory, but does not run megatron"), std::string::npos) << plan.verdict;
  EXPECT_EQ(BytesOf(plan, "workspace"), 0u);  // of CUDA
}

TEST(Plan, AssetsAloneAreNoTraining) {
  PlanRequest request;
  request.model = {.name = "no model", .source = "assets alone"};
  request.card = *FindCard("8GiB");
  ASSERT_TRUE(SetInput(request.workload, "asset", "scene=3GiB"));
  const Plan plan = *MakePlan(request);
  EXPECT_EQ(plan.devices[0].lines.size(), 2u);  // the asset, and the driver's context
  EXPECT_EQ(plan.largest.batch, std::nullopt);
  EXPECT_EQ(plan.fits, true);
}

TEST(Plan, StatesOfMuonAndAdafactorFollowTheShapes) {
  const ModelDescription model = *DescribeAny("layers=1 hidden=64 heads=4 ffn=128 vocab=1000 tied=no");
  Workload workload;
  const RankParameters rank = ParametersOfRank(model, workload, 0);
  const int64_t matrices = 4 * 64 * 64 + 3 * 64 * 128;
  EXPECT_EQ(rank.beside_matrices, 2 * 1000 * 64 + 3 * 64);  // table, head, norms
  EXPECT_EQ(rank.Total(), matrices + rank.beside_matrices);
  EXPECT_EQ(rank.factors, 4 * 128 + 3 * 192 + 2 * 1064 + 3 * 64);
}

TEST(Plan, OffloadedStatesAreOnTheHost) {
  const std::initializer_list<std::pair<const char*, const char*>> kept = {{"engine", "deepspeed"},
                                                                           {"parallel", "dp=4,zero=3"}};
  const Result<Plan> on_device = MakePlan(Request("llama-3.2-1b", kept));
  PlanRequest request = Request("llama-3.2-1b", kept);
  ASSERT_TRUE(SetInput(request.workload, "offload", "all"));
  const Result<Plan> on_host = MakePlan(request);
  ASSERT_TRUE(on_device && on_host);
  const StateBytes& states = on_device->devices[0].states;
  EXPECT_EQ(on_host->devices[0].host_bytes, states.parameters + states.gradients + states.optimizer_state);
  EXPECT_EQ(on_host->devices[0].framework_peak_bytes + on_host->devices[0].host_bytes,
            on_device->devices[0].framework_peak_bytes);
  EXPECT_EQ(on_host->host_total_bytes, on_device->host_total_bytes + 4 * on_host->devices[0].host_bytes);
}

TEST(Plan, SelectiveRecomputingIsBetweenAllAndNothing) {
  uint64_t before = UINT64_MAX;
  for (const char* recompute : {"none", "selective", "full"}) {
    const Result<Plan> plan = MakePlan(Request(
        "llama-3.1-8b", {{"engine", "torchtitan"}, {"parallel", "fsdp=8"}, {"recompute", recompute}, {"batch", "2"}}));
    ASSERT_TRUE(plan);
    EXPECT_LT(plan->devices[0].states.activations_end_of_forward, before) << recompute;
    before = plan->devices[0].states.activations_end_of_forward;
  }
}

TEST(Plan, TheLargestBatchFitsAndTheNextDoesNot) {
  PlanRequest request = Request("gpt2", {{"precision", "bf16_autocast"}, {"sequence", "1024"}}, "rtx4090");
  request.searches_largest = true;
  const std::optional<int64_t> largest = MakePlan(request)->largest.batch;
  ASSERT_TRUE(largest);
  request.searches_largest = false;
  request.workload.batch = *largest;
  EXPECT_EQ(MakePlan(request)->fits, true);
  request.workload.batch = *largest + 1;
  EXPECT_EQ(MakePlan(request)->fits, false);
}

struct BadRequest {
  const char* input;
  const char* value;
  const char* said;

  friend void PrintTo(const BadRequest& request, std::ostream* out) { *out << request.input << "=" << request.value; }
};

class BadRequestTest : public testing::TestWithParam<BadRequest> {};

TEST_P(BadRequestTest, IsRefusedWithASentence) {
  PlanRequest request = Request("llama-3.1-8b", {});
  Status status = SetInput(request.workload, GetParam().input, GetParam().value);
  Error error;
  if (!status) {
    error = status.error();
  } else {
    const Result<Plan> plan = MakePlan(request);
    ASSERT_FALSE(plan);
    error = plan.error();
  }
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_NE(error.message.find(GetParam().said), std::string::npos) << error.message;
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, BadRequestTest,
    testing::Values(BadRequest{"parallel", "tp=3", "cannot be divided"},
                    BadRequest{"parallel", "pp=64", "cannot share"}, BadRequest{"parallel", "ep=2", "experts"},
                    BadRequest{"parallel", "xp=2", "no parallel degree"},
                    BadRequest{"parallel", "cp=3", "cannot be divided"}, BadRequest{"parallel", "tp=0", "whole number"},
                    BadRequest{"batch", "0", "whole number"}, BadRequest{"batch", "-1", "whole number"},
                    BadRequest{"batch", "1000000000000", "beyond"}, BadRequest{"sequence", "x", "whole number"},
                    BadRequest{"precision", "fp99", "is one of"}, BadRequest{"memory-fraction", "2", "0 to 1"},
                    BadRequest{"lora-rank", "x", "whole number"}, BadRequest{"nothing", "1", "not an input"},
                    BadRequest{"offload", "all", "zero=3"}, BadRequest{"parallel", "pp=2,first=40", "do not share"},
                    BadRequest{"draft-tokens", "4", "serve"}, BadRequest{"adapter", "none", "is one of"},
                    BadRequest{"asset", "scene", "NAME=SIZE"}));

TEST(Sweep, FindsWhereItBreaks) {
  const Result<Sweep> sweep =
      RunSweep(Request("gpt2", {{"precision", "bf16_autocast"}, {"sequence", "1024"}}, "rtx4090"), "batch=1..64");
  ASSERT_TRUE(sweep);
  ASSERT_TRUE(sweep->break_point);
  const SweepPoint& first_failing = sweep->points[*sweep->break_point];
  const SweepPoint& last_fitting = sweep->points[*sweep->break_point - 1];
  EXPECT_EQ(first_failing.fits, false);
  EXPECT_EQ(last_fitting.fits, true);
  EXPECT_EQ(std::stoll(first_failing.value), std::stoll(last_fitting.value) + 1);
  EXPECT_FALSE(RunSweep(Request("gpt2", {}), "batch"));
  EXPECT_FALSE(RunSweep(Request("gpt2", {}), "batch=9..1"));
}

TEST(Ranking, TheFewestDevicesComeFirst) {
  const PlanRequest request = Request("llama-3.1-70b", {{"task", "serve"}, {"engine", "vllm"}});
  const std::vector<Card> cards = {*FindCard("l4"), *FindCard("h100-80g"), *FindCard("b200"), *FindCard("tpu-v5e")};
  const std::vector<Plan> plans = *RankCards(request, cards);
  EXPECT_EQ(plans[0].target->card.id, "b200");
  EXPECT_EQ(plans[0].workload.parallel.DeviceCount(), 1);
  int64_t devices = 1;
  for (const Plan& plan : plans) {
    ASSERT_EQ(plan.fits, true);
    EXPECT_GE(plan.workload.parallel.DeviceCount(), devices);
    devices = plan.workload.parallel.DeviceCount();
    if (plan.target->card.id == "h100-80g") EXPECT_EQ(devices, 2);  // 131 GiB of weights
  }
}

TEST(Grid, HoldsTheGivenPlanAmongItsNeighbours) {
  const Result<PlanGrid> grid = MakeGrid(Request("gpt2", {{"batch", "3"}, {"sequence", "512"}}, "rtx4090"));
  ASSERT_TRUE(grid);
  ASSERT_EQ(grid->axes.size(), 3u);
  size_t index = 0;
  size_t count = 1;
  for (const GridAxis& axis : grid->axes) {
    index = index * axis.values.size() + axis.given;
    count *= axis.values.size();
  }
  EXPECT_EQ(grid->axes[0].values[grid->axes[0].given], "3");
  ASSERT_EQ(grid->cells.size(), count);
  EXPECT_EQ(grid->cells[index].plan->devices[0].total_bytes, grid->given.devices[0].total_bytes);
  EXPECT_EQ(grid->cells[index].plan->fits, true);
  EXPECT_FALSE(grid->cells.back().plan->devices.empty());
}

TEST(Constants, EveryNameIsInTheFileWithItsSource) {
  for (const std::string_view name : kConstantNames) {
    const Constant& constant = GetConstant(name);
    EXPECT_GT(constant.best, 0) << name;
    EXPECT_LE(constant.low, constant.best) << name;
    EXPECT_GE(constant.high, constant.best) << name;
    EXPECT_FALSE(constant.how.empty()) << name;
    EXPECT_FALSE(constant.source.empty()) << name;
  }
}

TEST(Cards, TheBuiltInTableIsRead) {
  EXPECT_GE(BuiltInCards().size(), 20u);
  EXPECT_EQ(FindCard("h100-80g")->visible_bytes, 85045870592u);
  EXPECT_EQ(FindCard("24GiB")->visible_bytes, uint64_t{24} << 30);
  EXPECT_FALSE(FindCard("h1000"));
}

}  // namespace
}  // namespace memstrata::plan
