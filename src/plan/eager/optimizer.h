#pragma once
// The optimizers of PyTorch and transformers as far as memory goes: states that appear at the first step, and the
// temporaries of every step.

#include <deque>
#include <map>
#include <string_view>
#include <vector>

#include "plan/eager/tape.h"

namespace memstrata::plan::eager {

enum class OptimizerKind : uint8_t {
  kNone,
  kAdamWForeach,  // PyTorch's default on CUDA
  kAdamWFused,
  kAdamWForLoop,
  kSgd,
  kSgdMomentum,
  kSgdMomentumForLoop,
  kAdafactorTransformers,  // scale_parameter=False, relative_step=False
  kAdafactorTorch,
};

class Optimizer {
 public:
  explicit Optimizer(OptimizerKind kind) : kind_(kind) {}
  void Step(Tape& tape, std::deque<Parameter>& parameters);

 private:
  void MakeStates(Tape& tape, const Parameter& parameter);
  void StepForeach(Tape& tape, const std::vector<Parameter*>& parameters);
  void StepForLoop(Tape& tape, const std::vector<Parameter*>& parameters);
  void StepAdafactor(Tape& tape, const std::vector<Parameter*>& parameters);
  void StepAdafactorTorch(Tape& tape, const std::vector<Parameter*>& parameters);

  OptimizerKind kind_;
  std::map<const Parameter*, std::vector<Tensor>> states_;
};

}  // namespace memstrata::plan::eager
