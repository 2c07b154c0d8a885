#pragma once
// A training by SGD with momentum, for tests of categories.

#include <utility>
#include <vector>

#include "analysis/test_program.h"

namespace memstrata {

/// Its parameters, which the program makes, have these sizes; a line of the program for each part of a step.
class SgdTraining {
 public:
  SgdTraining(TestProgram& program, std::vector<uint64_t> sizes) : program_(program), sizes_(std::move(sizes)) {}

  /// `makes_states`: in the update.
  void Step(bool makes_states) {
    LoadBatch();
    std::vector<uint32_t> kept;
    for (size_t i = 0; i < sizes_.size(); ++i)
      kept.push_back(program_.Alloc(3 << 20, {"<module>@train.py:12", "_call_impl@torch/nn/modules/module.py:1700"}));
    const uint32_t loss =
        program_.Alloc(8 << 20, {"<module>@train.py:12", "cross_entropy@torch/nn/functional.py:3000"});
    const uint32_t root = program_.Alloc(4, {"<module>@train.py:13", "_make_grads@torch/autograd/__init__.py:220"});
    program_.Free(program_.Alloc(8 << 20, {}), {});
    std::vector<uint32_t> gradients;
    for (size_t i = sizes_.size(); i-- > 0; kept.pop_back()) {
      gradients.push_back(program_.Alloc(sizes_[i], {}));
      program_.Free(kept.back(), {});
    }
    program_.Free(loss, {});
    program_.Free(root, {"<module>@train.py:13", "backward@torch/_tensor.py:500"});
    Update(makes_states);
    for (const uint32_t row : gradients)
      program_.Free(row, {"<module>@train.py:17", "zero_grad@torch/optim/optimizer.py:900"});
  }

 private:
  // The batch of the step before goes when the next one is there.
  void LoadBatch() {
    const uint32_t old_batch = batch_;
    batch_ = program_.Alloc(20'000, {"<module>@train.py:11", "batch@train.py:2"});
    if (old_batch != kNone) program_.Free(old_batch, {"<module>@train.py:11"});
  }

  void Update(bool makes_states) {
    for (size_t i = 0; i < sizes_.size() && makes_states; ++i)
      program_.Alloc(sizes_[i],
                     {"<module>@train.py:16", "step@torch/optim/sgd.py:20", "_init_group@torch/optim/sgd.py:1"});
    std::vector<uint32_t> temporaries;
    for (const uint64_t size : sizes_)
      temporaries.push_back(program_.Alloc(
          size, {"<module>@train.py:16", "step@torch/optim/sgd.py:20", "_multi_tensor_sgd@torch/optim/sgd.py:300"}));
    for (const uint32_t row : temporaries) program_.Free(row, {"<module>@train.py:16", "step@torch/optim/sgd.py:20"});
  }

  TestProgram& program_;
  const std::vector<uint64_t> sizes_;
  uint32_t batch_ = kNone;
};

}  // namespace memstrata
