#include "report/text/stack_text.h"

#include <gtest/gtest.h>

#include "report/text/text_style.h"

namespace memstrata {
namespace {

TEST(StackText, CallerOnlyWhereItFits) {
  Store store;
  const auto add = [&](std::string_view function, std::string_view file, uint32_t line) {
    return store.stacks.InternFrame(store.strings.Intern(function), store.strings.Intern(file), line,
                                    GuessFrameKind(file, function));
  };
  const StackId stack = store.stacks.InternStack(std::vector<FrameId>{
      add("silu", "/venv/site-packages/torch/nn/functional.py", 9),
      add("forward", "/home/user/model.py", 54),
      add("_call_impl", "/venv/site-packages/torch/nn/modules/module.py", 7),
      add("train_step", "/home/user/train.py", 84),
  });
  const std::string whole = "silu in forward  user/model.py:54 ← train_step  user/train.py:84";
  const size_t whole_width = DisplayWidth(whole);
  EXPECT_EQ(DescribeStack(store, stack, whole_width), whole);
  EXPECT_EQ(DescribeStack(store, stack, whole_width - 1), "silu in forward  user/model.py:54");
  EXPECT_EQ(DescribeStack(store, stack, 30), "silu in forward  model.py:54");
  for (size_t width = 10; width < 80; ++width) EXPECT_LE(DisplayWidth(DescribeStack(store, stack, width)), width);
}

}  // namespace
}  // namespace memstrata
