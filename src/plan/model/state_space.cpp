#include "plan/model/state_space.h"

#include <fmt/format.h>

#include <string_view>

namespace memstrata::plan {
namespace {

constexpr int64_t kTokensOfStepRank = 16;  // "auto": hidden / 16, rounded up

Status ReadMamba2(const ConfigJson& config, const std::string& model_type, int64_t hidden, StateSpaceSpec& spec) {
  MEMSTRATA_ASSIGN_OR_RETURN(
      spec.heads, model_type == "zamba2" ? config.Integer("n_mamba_heads", 8)
                                         : config.RequiredIntegerOf({"mamba_n_heads", "mamba_num_heads", "num_heads"}));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.groups, config.IntegerOf({"mamba_n_groups", "mamba_ngroups", "n_groups"}, 1));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t expansion, config.IntegerOf({"mamba_expand", "expand"}, 2));
  for (const int64_t size : {spec.heads, spec.groups, spec.state, spec.convolution, expansion, hidden}) {
    if (size > ConfigJson::kLargestSize)
      return Fail(ErrorCode::kInvalidArgument, fmt::format("A state-space layer with a size of {}.", size));
  }
  MEMSTRATA_ASSIGN_OR_RETURN(spec.inner, config.Integer("mamba_d_ssm", expansion * hidden));
  // A head's width may be "auto": the inner width is divided among the heads.
  for (const char* key : {"mamba_d_head", "mamba_head_dim", "head_dim"}) {
    const bool is_attentions = key == std::string_view("head_dim") && model_type != "mamba2";
    if (is_attentions || !config.Number(key) || config.Has("mamba_d_ssm")) continue;
    MEMSTRATA_ASSIGN_OR_RETURN(const int64_t head_dim, config.RequiredInteger(key));
    if (head_dim > ConfigJson::kLargestSize)
      return Fail(ErrorCode::kInvalidArgument, fmt::format("A state-space head of {}.", head_dim));
    spec.inner = spec.heads * head_dim;
    break;
  }
  if (spec.groups == 0 || spec.heads % spec.groups != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{} state-space heads cannot be divided among {} groups.", spec.heads, spec.groups));
  }
  return {};
}

}  // namespace

Result<StateSpaceSpec> ReadStateSpace(const ConfigJson& config, const std::string& model_type, int64_t hidden) {
  StateSpaceSpec spec;
  const bool is_first = model_type == "mamba" || model_type == "falcon_mamba" || model_type == "jamba";
  spec.version = is_first ? 1 : 2;
  MEMSTRATA_ASSIGN_OR_RETURN(
      spec.state, config.IntegerOf({"mamba_d_state", "ssm_state_size", "state_size"}, is_first                 ? 16
                                                                                      : model_type == "zamba2" ? 64
                                                                                                               : 128));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.convolution, config.IntegerOf({"mamba_d_conv", "conv_kernel"}, 4));
  if (spec.convolution == 0) return Fail(ErrorCode::kInvalidArgument, "A convolution of width 0 is none.");
  spec.convolution_bias = config.Flag("mamba_conv_bias", config.Flag("use_conv_bias", true));
  spec.projection_bias = config.Flag("mamba_proj_bias", config.Flag("use_bias", config.Flag("add_bias_linear", false)));
  spec.out_bias = config.Flag("projectors_bias", spec.projection_bias);
  spec.norms_step = model_type == "jamba";
  spec.norms_result = model_type != "falcon_h1" || config.Flag("mamba_rms_norm", false);
  if (!is_first) {
    MEMSTRATA_TRY(ReadMamba2(config, model_type, hidden, spec));
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
    if (spec.norms_result) build.Norm("mixer.norm", spec.inner, false);
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
  build.Linear("mixer.out_proj", hidden, spec.inner, spec.out_bias, Role::kRow);
}

}  // namespace memstrata::plan
