#pragma once
// One step of a training, for tests of growth.

#include "analysis/test_program.h"

namespace memstrata {

/// Forward, backward and update, which leave nothing behind.
inline void TrainStep(TestProgram& program, uint64_t activation_bytes) {
  const uint32_t block = program.Alloc(
      activation_bytes, {"<module>@train.py:9", "train@train.py:2", "forward@torch/nn/modules/linear.py:100"});
  program.Free(
      program.Alloc(4, {"<module>@train.py:9", "train@train.py:3", "_make_grads@torch/autograd/__init__.py:2"}), {});
  program.Free(block, {});
  program.Free(program.Alloc(4096, {"<module>@train.py:9", "train@train.py:4", "step@torch/optim/sgd.py:2"}),
               {"<module>@train.py:9", "train@train.py:4"});
}

}  // namespace memstrata
