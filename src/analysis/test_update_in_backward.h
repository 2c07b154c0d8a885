#pragma once
// A training whose updates run in the backward, for tests of analyses.

#include <vector>

#include "analysis/test_program.h"

namespace memstrata {

struct UpdatesInBackward {
  Store store;
  std::vector<uint32_t> states;
  std::vector<uint32_t> gradients;
  std::vector<uint32_t> between;  // gradients of what lies between layers
};

inline constexpr uint64_t kHookedWeights[] = {3 << 20, 5 << 20, 7 << 20, 11 << 20};

// A hook updates each parameter as soon as its gradient is there, and gives the gradient back.
inline UpdatesInBackward MakeUpdatesInBackward(bool keeps_stacks) {
  UpdatesInBackward result;
  TestProgram program(keeps_stacks);
  for (const uint64_t size : kHookedWeights)
    program.Alloc(size, {"<module>@train.py:9", "_apply@torch/nn/modules/module.py:900"});
  for (int step = 0; step < 4; ++step) {
    std::vector<uint32_t> kept;
    for (const uint64_t size : kHookedWeights)
      kept.push_back(program.Alloc(9 * size, {"<module>@train.py:12", "_call_impl@torch/nn/modules/module.py:1700"}));
    const uint32_t root = program.Alloc(
        4, {"<module>@train.py:13", "backward@torch/_tensor.py:500", "_make_grads@torch/autograd/__init__.py:220"});
    uint32_t between = kNone;
    for (size_t layer = std::size(kHookedWeights); layer-- > 0; kept.pop_back()) {
      const uint32_t gradient = program.Alloc(kHookedWeights[layer], {});
      if (between != kNone) program.Free(between, {});
      between = program.Alloc(2 << 20, {});
      result.gradients.push_back(gradient);
      result.between.push_back(between);
      program.Free(kept.back(), {});
      for (int state = 0; state < 2 && step == 0; ++state) {
        result.states.push_back(program.Alloc(kHookedWeights[layer], {"hook@train.py:6", "step@torch/optim/adamw.py:20",
                                                                      "_init_group@torch/optim/adamw.py:150"}));
      }
      program.Free(
          program.Alloc(512, {"hook@train.py:6", "step@torch/optim/adamw.py:20",
                              "_single_tensor_adamw@torch/optim/adamw.py:400"}),
          {"hook@train.py:6", "step@torch/optim/adamw.py:20", "_single_tensor_adamw@torch/optim/adamw.py:400"});
      program.Free(gradient, {"hook@train.py:7", "zero_grad@torch/optim/optimizer.py:900"});
    }
    program.Free(program.Alloc(1 << 20, {}), {});
    program.Free(between, {});
    program.Free(root, {"<module>@train.py:13", "backward@torch/_tensor.py:500"});
  }
  result.store = program.Finish();
  return result;
}

}  // namespace memstrata
