#include "plan/engine_support.h"

#include <gtest/gtest.h>

#include "plan/test_request.h"

namespace memstrata::plan {
namespace {

using Inputs = std::initializer_list<std::pair<const char*, const char*>>;

std::string Refusal(const char* model, Inputs inputs) {
  const Result<Plan> plan = MakePlan(Request(model, inputs));
  return plan ? "" : plan.error().message;
}

void ExpectRefused(Inputs inputs, const char* part, const char* model = "llama-3.2-1b") {
  EXPECT_NE(Refusal(model, inputs).find(part), std::string::npos) << part << " in: " << Refusal(model, inputs);
}

TEST(EngineSupport, EnginesThatServeDoNotTrainAndTheOtherWayRound) {
  for (const char* engine : {"vllm", "sglang", "llama.cpp"}) {
    for (const char* task : {"train", "forward", "generate"})
      ExpectRefused({{"engine", engine}, {"task", task}}, "serves; give --task serve");
    EXPECT_EQ(Refusal("llama-3.2-1b", {{"engine", engine}, {"task", "serve"}}), "");
  }
  for (const char* engine : {"megatron", "deepspeed", "torchtitan"})
    ExpectRefused({{"engine", engine}, {"task", "serve"}}, "trains; for serving");
}

TEST(EngineSupport, PackedWeightsAreNotTrained) {
  for (const char* format : {"nf4", "int8", "fp8", "int4", "mxfp4", "q4_k_m"})
    ExpectRefused({{"weights", format}}, "have no gradients");
  EXPECT_EQ(Refusal("llama-3.2-1b", {{"weights", "nf4"}, {"lora-rank", "8"}, {"sequence", "256"}}), "");
}

TEST(EngineSupport, AFormatIsOneThatTheEngineReads) {
  for (const char* format : {"fp8", "int8", "nf4", "int4", "nvfp4"})
    ExpectRefused({{"task", "serve"}, {"engine", "llama.cpp"}, {"weights", format}}, "reads GGUF files");
  ExpectRefused({{"task", "serve"}, {"weights", "q4_k_m"}}, "give --engine llama.cpp");
  for (const char* format : {"q4_k_m", "iq4_xs", "mxfp4"})
    EXPECT_EQ(Refusal("llama-3.2-1b", {{"task", "serve"}, {"engine", "llama.cpp"}, {"weights", format}}), "");
}

TEST(EngineSupport, ACacheIsOneThatTheEngineHas) {
  const auto expect = [](const char* engine, const char* format, bool has) {
    const std::string refusal = Refusal("llama-3.2-1b", {{"task", "serve"}, {"engine", engine}, {"kv-bits", format}});
    EXPECT_EQ(refusal.empty(), has) << engine << " " << format << ": " << refusal;
  };
  for (const char* format : {"q8_0", "q5_1", "q5_0", "q4_1", "q4_0"}) {
    expect("llama.cpp", format, true);
    for (const char* engine : {"vllm", "sglang", "torch", "jax"}) expect(engine, format, false);
  }
  for (const char* format : {"8", "8+scales", "nvfp4"}) {
    expect("vllm", format, true);
    for (const char* engine : {"llama.cpp", "torch"}) expect(engine, format, false);
  }
  expect("sglang", "8+scales", false);
  expect("torch", "16", true);
  expect("torch", "32", false);  // in bf16
  const Inputs latent = {{"task", "serve"}, {"engine", "vllm"}, {"kv-bits", "fp8_ds_mla"}};
  ExpectRefused(latent, "is for latent vectors");
  EXPECT_EQ(Refusal("deepseek-v2-lite", latent), "");
}

TEST(EngineSupport, DegreesOfServing) {
  ExpectRefused({{"task", "serve"}, {"engine", "sglang"}, {"parallel", "cp=2"}}, "is planned for vllm");
  ExpectRefused({{"task", "serve"}, {"engine", "llama.cpp"}, {"parallel", "tp=2"}}, "give pp instead of tp");
  ExpectRefused({{"task", "serve"}, {"engine", "vllm"}, {"parallel", "dp=2,zero=3"}}, "are of training");
  ExpectRefused({{"task", "serve"}, {"engine", "vllm"}, {"parallel", "tp=4"}}, "10 heads of keys and values", "phi-4");
  EXPECT_EQ(Refusal("llama-3.1-70b", {{"task", "serve"}, {"engine", "vllm"}, {"parallel", "tp=16"}}), "");
}

}  // namespace
}  // namespace memstrata::plan
