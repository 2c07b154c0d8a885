#include "plan/eager/optimizer.h"

namespace memstrata::plan::eager {
void Optimizer::MakeStates(Tape& tape, const Parameter& parameter) {
  std::vector<Tensor>& states = states_[&parameter];
  if (!states.empty()) return;
  const Tensor& value = parameter.value;
  const auto like = [&] { states.push_back(tape.Empty(value.shape, value.dtype, Category::kOptimizerState)); };
  switch (kind_) {
    case OptimizerKind::kNone:
    case OptimizerKind::kSgd:
      return;
    case OptimizerKind::kSgdMomentum:
    case OptimizerKind::kSgdMomentumForLoop:
      like();
      return;
    case OptimizerKind::kAdamWFused:
      states.push_back(tape.Empty({}, DType::kFloat32, Category::kOptimizerState));
      [[fallthrough]];
    case OptimizerKind::kAdamWForeach:
    case OptimizerKind::kAdamWForLoop:
      like();
      like();
      return;
    case OptimizerKind::kAdafactorTransformers:
    case OptimizerKind::kAdafactorTorch:
      break;
  }
  if (kind_ == OptimizerKind::kAdafactorTransformers) {  // the root mean square of the parameter
    states.push_back(tape.Empty({}, DType::kFloat32, Category::kOptimizerState));
  }
  const DType dtype = kind_ == OptimizerKind::kAdafactorTorch ? value.dtype : DType::kFloat32;
  if (value.shape.size() < 2) {
    states.push_back(tape.Empty(value.shape, dtype, Category::kOptimizerState));
    return;
  }
  Shape rows = value.shape;
  rows.pop_back();
  Shape columns = value.shape;
  columns.erase(columns.end() - 2);
  states.push_back(tape.Empty(rows, dtype, Category::kOptimizerState));
  states.push_back(tape.Empty(columns, dtype, Category::kOptimizerState));
}

void Optimizer::Step(Tape& tape, std::deque<Parameter>& all) {
  std::vector<Parameter*> parameters;
  for (Parameter& parameter : all) {
    if (parameter.is_trainable && parameter.grad.defined()) parameters.push_back(&parameter);
  }
  if (kind_ == OptimizerKind::kAdafactorTransformers) {
    StepAdafactor(tape, parameters);
    return;
  }
  for (Parameter* parameter : parameters) MakeStates(tape, *parameter);
  if (kind_ == OptimizerKind::kAdamWForeach) StepForeach(tape, parameters);
  if (kind_ == OptimizerKind::kAdamWForLoop) StepForLoop(tape, parameters);
  if (kind_ == OptimizerKind::kAdafactorTorch) StepAdafactorTorch(tape, parameters);
}

// The square roots of all second moments at once.
void Optimizer::StepForeach(Tape& tape, const std::vector<Parameter*>& parameters) {
  std::vector<Tensor> roots;
  roots.reserve(parameters.size());
  for (const Parameter* parameter : parameters)
    roots.push_back(tape.Empty(parameter->value.shape, parameter->value.dtype));
}

// sqrt(second moment) / correction, one parameter after the other; the name of the last one lives on.
void Optimizer::StepForLoop(Tape& tape, const std::vector<Parameter*>& parameters) {
  Tensor denominator;
  for (const Parameter* parameter : parameters) {
    const Tensor root = tape.Empty(parameter->value.shape, parameter->value.dtype);
    denominator = tape.Empty(parameter->value.shape, parameter->value.dtype);
  }
}

// PyTorch's loop: one estimate of the variance at a time, which becomes the update; the last one lives until the next
// is made. The norms of the columns need scratch memory.
void Optimizer::StepAdafactorTorch(Tape& tape, const std::vector<Parameter*>& parameters) {
  Tensor update;
  for (const Parameter* parameter : parameters) {
    const Tensor& value = parameter->value;
    if (value.shape.size() > 1) {
      (void)tape.SumOuter(parameter->grad, {value.shape.back()});
      update = tape.Empty(value.shape, value.dtype);
    } else {
      const Tensor square = tape.Empty(value.shape, value.dtype);
      update = tape.Empty(value.shape, value.dtype);
    }
  }
}

// transformers' loop; names keep the last parameter's tensors until they are bound anew.
void Optimizer::StepAdafactor(Tape& tape, const std::vector<Parameter*>& parameters) {
  Tensor gradient, value, update;
  for (Parameter* parameter : parameters) {
    const Shape& shape = parameter->value.shape;
    const bool is_half = parameter->value.dtype != DType::kFloat32;
    gradient = is_half ? tape.Empty(shape, DType::kFloat32) : parameter->grad;
    MakeStates(tape, *parameter);
    value = is_half ? tape.Empty(shape, DType::kFloat32) : parameter->value;
    {
      const Tensor square = tape.Empty(shape, DType::kFloat32);
      update = tape.Empty(shape, DType::kFloat32);
    }
    if (shape.size() == 2) (void)tape.SumOuter(update, {shape[1]});  // the mean of each column
    update = tape.Empty(shape, DType::kFloat32);
    const Tensor negated = tape.Empty(shape, DType::kFloat32);
  }
}

}  // namespace memstrata::plan::eager
