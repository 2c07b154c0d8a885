#pragma once
// Writes lists of parameters without repeating prefixes and layer numbers.

#include <string>
#include <utility>
#include <vector>

#include "plan/model/parameter_spec.h"

namespace memstrata::plan {

class ParameterBuilder {
 public:
  void set_layer(int64_t layer) { layer_ = static_cast<int32_t>(layer); }
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }

  void Add(const std::string& name, std::vector<int64_t> shape, Role role) {
    parameters_.push_back({prefix_ + name, std::move(shape), role, layer_, false});
  }
  void Linear(const std::string& name, int64_t out, int64_t in, bool bias, Role role) {
    Add(name + ".weight", {out, in}, role);
    if (bias) Add(name + ".bias", {out}, role == Role::kRow ? Role::kRowBias : Role::kColumnBias);
  }
  void Norm(const std::string& name, int64_t width, bool bias) {
    Add(name + ".weight", {width}, Role::kNorm);
    if (bias) Add(name + ".bias", {width}, Role::kNorm);
  }
  std::vector<ParameterSpec> Take() { return std::move(parameters_); }

 private:
  std::vector<ParameterSpec> parameters_;
  std::string prefix_;
  int32_t layer_ = -1;
};

}  // namespace memstrata::plan
