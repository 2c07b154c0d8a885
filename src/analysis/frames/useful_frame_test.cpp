#include "analysis/frames/useful_frame.h"

#include <gtest/gtest.h>

#include "analysis/frames/useful_frames.h"

namespace memstrata {
namespace {

FrameId Add(Store& store, std::string_view function, std::string_view file, uint32_t line = 1) {
  return store.stacks.InternFrame(store.strings.Intern(function), store.strings.Intern(file), line,
                                  GuessFrameKind(file, function));
}

TEST(UsefulFrame, OwnCodeBeforeFrameworkBeforeNative) {
  Store store;
  const std::vector<FrameId> frames = {
      Add(store, "at::native::empty_cuda(long)", "EmptyTensor.cpp"),
      Add(store, "linear", "/opt/venv/lib/python3.11/site-packages/torch/nn/functional.py"),
      Add(store, "forward", "/home/user/model.py"),
      Add(store, "main", "/home/user/train.py"),
  };
  EXPECT_EQ(UsefulFrameIndex(store, frames), 2u);
  EXPECT_EQ(UsefulFrameIndex(store, {frames[0], frames[1]}), 1u);
}

TEST(UsefulFrame, BackwardIsNamedByItsNode) {
  Store store;
  const std::vector<FrameId> frames = {
      Add(store, "c10::cuda::CUDACachingAllocator::malloc", "??"),
      Add(store, "at::(anonymous namespace)::structured_mm_out_cuda::create_out(long)", "RegisterCUDA.cpp"),
      Add(store, "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)", "Functions.cpp"),
      Add(store, "execute_native_thread_routine", "thread48.o"),
  };
  EXPECT_EQ(UsefulFrameIndex(store, frames), 2u);
  const StackId stack = store.stacks.InternStack(frames);
  EXPECT_EQ(UsefulFrames(store).Of(stack), frames[2]);  // the table for all stacks chooses the same
  EXPECT_EQ(ShortFunctionName(store.String(store.stacks.frames().function[frames[2].value])), "MmBackward0::apply");
}

// The node that adds to a gradient; frames of a library without debugging information have no place.
TEST(UsefulFrame, AGradientIsNamedByItsNodeAlone) {
  Store store;
  const std::vector<FrameId> frames = {
      Add(store, "at::(anonymous namespace)::wrapper_CUDA__empty_strided(long)", "RegisterCUDA_0.cpp", 0),
      Add(store, "torch::autograd::utils::clone_obey_contract(at::Tensor)", "??", 0),
      Add(store, "torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)", "??", 0),
  };
  EXPECT_EQ(UsefulFrameName(store, store.stacks.InternStack(frames)), "AccumulateGrad::apply");
}

TEST(UsefulFrame, CallersOfEveryModuleArePlumbing) {
  Store store;
  const FrameId call =
      Add(store, "_call_impl", "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", 1786);
  const FrameId own = Add(store, "_call_impl", "/home/user/module.py", 3);
  EXPECT_TRUE(IsPlumbing(store, call));
  EXPECT_FALSE(IsPlumbing(store, own));
}

TEST(UsefulFrame, OperatorIsTheFrameworkFunctionThatTheUserCalled) {
  Store store;
  const std::vector<FrameId> frames = {
      Add(store, "at::native::silu", "Activation.cpp"),
      Add(store, "silu", "/venv/site-packages/torch/nn/functional.py"),
      Add(store, "_call_impl", "/venv/site-packages/torch/nn/modules/module.py"),
      Add(store, "forward", "/home/user/model.py"),
  };
  EXPECT_EQ(OperatorName(store, frames, 3), "silu");
  EXPECT_EQ(OperatorName(store, {frames[0], frames[3]}, 1), "");  // the user's own line allocated
  EXPECT_EQ(OperatorName(store, {frames[0], frames[1]}, 1), "");  // no user frame to be in
  const FrameId linear = Add(store, "forward", "/venv/site-packages/torch/nn/modules/linear.py");
  EXPECT_EQ(OperatorName(store, {frames[0], linear, frames[2], frames[3]}, 3), "linear");
}

TEST(UsefulFrame, ShortNames) {
  EXPECT_EQ(ShortFunctionName("forward"), "forward");
  EXPECT_EQ(ShortFunctionName("at::native::add_<float>(at::Tensor, long)"), "add_");
  EXPECT_EQ(ShortFunctionName("(anonymous namespace)::wrapper(int)"), "wrapper");
  EXPECT_EQ(ShortFunctionName("at::(anonymous namespace)::(anonymous namespace)::wrapper_CUDA(int)"), "wrapper_CUDA");
  EXPECT_EQ(ShortFunctionName("<module>"), "<module>");
  // What begins alike is told apart by its end, and no character is cut in two.
  const std::string layers = "replica_6/bert_span_labeler/bert_encoder_1/transformer/layer_10/self_attention/";
  EXPECT_EQ(ShortFunctionName(layers + "key"),
            "replica_6/be…span_labeler/bert_encoder_1/transformer/layer_10/self_attention/key");
  EXPECT_EQ(ShortFunctionName("0123456789aé" + layers + "é"),
            "0123456789a…_span_labeler/bert_encoder_1/transformer/layer_10/self_attention/é");
}

}  // namespace
}  // namespace memstrata
