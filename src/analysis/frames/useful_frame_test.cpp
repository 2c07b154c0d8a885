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

TEST(UsefulFrame, ShortNames) {
  EXPECT_EQ(ShortFunctionName("forward"), "forward");
  EXPECT_EQ(ShortFunctionName("at::native::add_<float>(at::Tensor, long)"), "add_");
  EXPECT_EQ(ShortFunctionName("(anonymous namespace)::wrapper(int)"), "wrapper");
  EXPECT_EQ(ShortFunctionName("at::(anonymous namespace)::(anonymous namespace)::wrapper_CUDA(int)"), "wrapper_CUDA");
  EXPECT_EQ(ShortFunctionName("<module>"), "<module>");
  EXPECT_EQ(ShortPath("/home/user/pkg/model.py"), "pkg/model.py");
  EXPECT_EQ(ShortPath("model.py"), "model.py");
}

}  // namespace
}  // namespace memstrata
