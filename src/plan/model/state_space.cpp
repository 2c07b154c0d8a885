#include "plan/model/state_space.h"

#include <fmt/format.h>

namespace memstrata::plan {
namespace {

constexpr int64_t kTokensOfStepRank = 16;  // "auto": hidden / 16, rounded up

Status ReadMamba2(const ConfigJson& config, int64_t hidden, StateSpaceSpec& spec) {
  MEMSTRATA_ASSIGN_OR_RETURN(spec.heads, config.RequiredIntegerOf({"mamba_n_heads", "mamba_num_heads", "num_heads"}));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t head_dim,
                             config.IntegerOf({"mamba_d_head", "mamba_head_dim", "head_dim"}, 64));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.groups, config.IntegerOf({"mamba_n_groups", "n_groups"}, 1));
  for (const int64_t size : {spec.heads, head_dim, spec.groups, spec.state, spec.convolution}) {
    if (size > ConfigJson::kLargestSize)
      return Fail(ErrorCode::kInvalidArgument, fmt::format("A state-space layer with a size of {}.", size));
  }
  spec.inner = spec.heads * head_dim;
  if (spec.groups == 0 || spec.heads % spec.groups != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{} state-space heads cannot be divided among {} groups.", spec.heads, spec.groups));
  }
  if (spec.inner == 0) spec.inner = 2 * hidden;
  return {};
}

}  // namespace

Result<StateSpaceSpec> ReadStateSpace(const ConfigJson& config, const std::string& model_type, int64_t hidden) {
  StateSpaceSpec spec;
  const bool is_first = model_type == "mamba" || model_type == "falcon_mamba" || model_type == "jamba";
  spec.version = is_first ? 1 : 2;
  MEMSTRATA_ASSIGN_OR_RETURN(spec.state,
                             config.IntegerOf({"mamba_d_state", "ssm_state_size", "state_size"}, is_first ? 16 : 128));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.convolution, config.IntegerOf({"mamba_d_conv", "conv_kernel"}, 4));
  if (spec.convolution == 0) return Fail(ErrorCode::kInvalidArgument, "A convolution of width 0 is none.");
  spec.convolution_bias = config.Flag("mamba_conv_bias", config.Flag("use_conv_bias", true));
  spec.projection_bias = config.Flag("mamba_proj_bias", config.Flag("use_bias", false));
  spec.norms_step = model_type == "jamba";
  if (!is_first) {
    MEMSTRATA_TRY(ReadMamba2(config, hidden, spec));
    return spec;
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t expansion, config.IntegerOf({"mamba_expand", "expand"}, 2));
  for (const int64_t size : {spec.state, spec.convolution, expansion, hidden}) {
    if (size > ConfigJson::kLargestSize)
      return Fail(ErrorCode::kInvalidArgument, fmt::format("A state-space layer with a size of {}.", size));
  }
  const int64_t usual_rank = (hidden + kTokensOfStepRank - 1) / kTokensOfStepRank;
  spec.inner = expansion * hidden;  // Jamba's intermediate_size is its MLP's
  if (model_type != "jamba") {
    MEMSTRATA_ASSIGN_OR_RETURN(spec.inner, config.Integer("intermediate_size", spec.inner));
  }
  const char* rank_key = model_type == "jamba" ? "mamba_dt_rank" : "time_step_rank";
  spec.step_rank = usual_rank;
  if (config.Number(rank_key)) {  // otherwise it is absent or "auto"
    MEMSTRATA_ASSIGN_OR_RETURN(spec.step_rank, config.Integer(rank_key, usual_rank));
  }
  return spec;
}

void AddStateSpace(const StateSpaceSpec& spec, int64_t hidden, ParameterBuilder& build) {
  if (spec.version == 2) {
    build.Linear("mixer.in_proj", spec.inner + spec.ConvolvedWidth() + spec.heads, hidden, spec.projection_bias,
                 Role::kColumn);
  } else {
    build.Linear("mixer.in_proj", 2 * spec.inner, hidden, spec.projection_bias, Role::kColumn);
  }
  build.Add("mixer.convolution.weight", {spec.ConvolvedWidth(), 1, spec.convolution}, Role::kState);
  if (spec.convolution_bias) build.Add("mixer.convolution.bias", {spec.ConvolvedWidth()}, Role::kState);
  if (spec.version == 2) {
    for (const char* name : {"mixer.step_bias", "mixer.decay", "mixer.skip"})
      build.Add(name, {spec.heads}, Role::kState);
    build.Norm("mixer.norm", spec.inner, false);
  } else {
    build.Linear("mixer.x_proj", spec.step_rank + 2 * spec.state, spec.inner, false, Role::kRow);
    build.Linear("mixer.step_proj", spec.inner, spec.step_rank, true, Role::kColumn);
    build.Add("mixer.decay", {spec.inner, spec.state}, Role::kState);
    build.Add("mixer.skip", {spec.inner}, Role::kState);
    if (spec.norms_step) {
      build.Norm("mixer.step_norm", spec.step_rank, false);
      build.Norm("mixer.b_norm", spec.state, false);
      build.Norm("mixer.c_norm", spec.state, false);
    }
  }
  build.Linear("mixer.out_proj", hidden, spec.inner, spec.projection_bias, Role::kRow);
}

}  // namespace memstrata::plan
