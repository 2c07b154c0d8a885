#include "plan/eager/model.h"

#include <algorithm>

#include "plan/model/adapter_targets.h"

namespace memstrata::plan::eager {
ParameterSet::ParameterSet(Tape& tape, const std::vector<ParameterSpec>& specs, const std::vector<BufferSpec>& buffers,
                           DType dtype, const AdapterOptions& adapters)
    : specs_(specs), dtype_(dtype) {
  for (const ParameterSpec& spec : specs) {
    const bool is_packed = adapters.frozen_linear_bits > 0 && IsLinearMatrix(spec) && !spec.keeps_precision;
    const Shape shape(spec.shape.begin(), spec.shape.end());
    by_name_[spec.name] = is_packed ? &AddPacked(tape, shape, dtype, adapters.frozen_linear_bits, spec.layer)
                                    : &Add(tape, shape, dtype, spec.layer);
  }
  for (const BufferSpec& spec : buffers) {
    Shape shape(spec.shape.begin(), spec.shape.end());
    shape.push_back(spec.element_bytes == 0 ? static_cast<int64_t>(ElementBytes(dtype)) : spec.element_bytes);
    buffers_.push_back(tape.Empty(shape, DType::kBool, Category::kBuffer));
  }
}

Parameter& ParameterSet::Add(Tape& tape, const Shape& shape, DType dtype, int64_t layer) {
  Parameter& parameter = parameters_.emplace_back();
  parameter.layer = layer;
  parameter.value = tape.Empty(shape, dtype, Category::kParameter);
  parameter.value.requires_grad = true;
  parameter.value.parameter = &parameter;
  return parameter;
}

Parameter& ParameterSet::AddPacked(Tape& tape, const Shape& shape, DType dtype, double bits, int64_t layer) {
  Parameter& parameter = parameters_.emplace_back();
  const auto packed_bytes = static_cast<int64_t>(static_cast<double>(ElementCount(shape)) * bits / 8.0);
  parameter.value = tape.Empty({packed_bytes}, DType::kBool, Category::kParameter);
  parameter.value.shape = shape;
  parameter.value.dtype = dtype;
  parameter.value.parameter = &parameter;
  parameter.is_quantized = true;
  parameter.packed_bytes = static_cast<uint64_t>(packed_bytes);
  parameter.layer = layer;
  return parameter;
}

void ParameterSet::AddAdapters(Tape& tape, const AdapterOptions& options) {
  for (Parameter& parameter : parameters_) {
    parameter.is_trainable = false;
    parameter.value.requires_grad = false;
  }
  for (const ParameterSpec& spec : specs_) {
    Parameter* weight = by_name_[spec.name];
    switch (options.form) {
      case AdapterForm::kLowRank:
        if (IsAdapterTarget(spec, options.targets)) {
          Parameter& down = Add(tape, {options.rank, spec.shape[1]}, DType::kFloat32, spec.layer);
          adapters_[weight] = {&down, &Add(tape, {spec.shape[0], options.rank}, DType::kFloat32, spec.layer),
                               options.dropout};
        }
        break;
      case AdapterForm::kScaleAndBias:
        if (spec.role == Role::kNorm) weight->is_trainable = weight->value.requires_grad = true;
        if (IsLinearMatrix(spec) || (spec.role == Role::kHead && spec.shape.size() == 2)) {
          Parameter& scale = Add(tape, {spec.shape[0]}, dtype_, spec.layer);
          adapters_[weight] = {.scale = &scale, .bias = &Add(tape, {spec.shape[0]}, dtype_, spec.layer)};
        }
        break;
      case AdapterForm::kPrompt:
        if (spec.layer >= kFirstAdapterPromptLayer && spec.name.ends_with("o_proj.weight")) {
          Parameter& prompt = Add(tape, {1, kAdapterPromptTokens, spec.shape[0]}, dtype_, spec.layer);
          adapters_[weight] = {.prompt = &prompt, .gate = &Add(tape, {1}, dtype_, spec.layer)};
        }
        break;
    }
  }
}

Parameter* ParameterSet::Find(const std::string& name) {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const ParameterSet::Adapter* ParameterSet::AdapterOf(const Parameter& weight) const {
  const auto found = adapters_.find(&weight);
  return found == adapters_.end() ? nullptr : &found->second;
}

}  // namespace memstrata::plan::eager
