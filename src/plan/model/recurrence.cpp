#include "plan/model/recurrence.h"

#include <fmt/format.h>

namespace memstrata::plan {
namespace {

using Kind = RecurrenceSpec::Kind;

Status CheckSizes(const RecurrenceSpec& spec) {
  for (const int64_t size : {spec.convolution, spec.width, spec.heads, spec.key_heads, spec.key_dim, spec.value_dim}) {
    if (size > ConfigJson::kLargestSize)
      return Fail(ErrorCode::kInvalidArgument, fmt::format("A recurrent layer with a size of {}.", size));
  }
  if (spec.convolution == 0) return Fail(ErrorCode::kInvalidArgument, "A convolution of width 0 is none.");
  return {};
}

Status ReadGatedDelta(const ConfigJson& config, RecurrenceSpec& spec) {
  MEMSTRATA_ASSIGN_OR_RETURN(spec.convolution, config.Integer("linear_conv_kernel_dim", 4));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.key_heads, config.RequiredInteger("linear_num_key_heads"));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.heads, config.RequiredInteger("linear_num_value_heads"));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.key_dim, config.RequiredInteger("linear_key_head_dim"));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.value_dim, config.RequiredInteger("linear_value_head_dim"));
  return {};
}

Status ReadGatedLinear(const ConfigJson& config, int64_t hidden, int64_t attention_heads, RecurrenceSpec& spec) {
  MEMSTRATA_ASSIGN_OR_RETURN(spec.convolution, config.Integer("conv1d_width", 4));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.width, config.Integer("lru_width", hidden));
  spec.heads = attention_heads;
  if (spec.width % spec.heads != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("A recurrence of {} channels cannot be divided among {} heads.", spec.width, spec.heads));
  }
  return {};
}

void AddGatedDelta(const RecurrenceSpec& spec, int64_t hidden, ParameterBuilder& build) {
  build.Linear("mixer.qkvz_proj", spec.ConvolvedWidth() + spec.ValueWidth(), hidden, false, Role::kColumn);
  build.Linear("mixer.ba_proj", 2 * spec.heads, hidden, false, Role::kColumn);
  build.Add("mixer.convolution.weight", {spec.ConvolvedWidth(), 1, spec.convolution}, Role::kState);
  for (const char* name : {"mixer.step_bias", "mixer.decay"}) build.Add(name, {spec.heads}, Role::kState);
  build.Norm("mixer.norm", spec.value_dim, false);
  build.Linear("mixer.out_proj", hidden, spec.ValueWidth(), false, Role::kRow);
}

void AddShortConvolution(const RecurrenceSpec& spec, int64_t hidden, ParameterBuilder& build) {
  build.Linear("mixer.in_proj", 3 * hidden, hidden, spec.has_bias, Role::kColumn);
  build.Add("mixer.convolution.weight", {hidden, 1, spec.convolution}, Role::kState);
  if (spec.has_bias) build.Add("mixer.convolution.bias", {hidden}, Role::kState);
  build.Linear("mixer.out_proj", hidden, hidden, spec.has_bias, Role::kRow);
}

void AddGatedLinear(const RecurrenceSpec& spec, int64_t hidden, ParameterBuilder& build) {
  for (const char* name : {"mixer.x_proj", "mixer.y_proj"}) build.Linear(name, spec.width, hidden, true, Role::kColumn);
  build.Add("mixer.convolution.weight", {spec.width, 1, spec.convolution}, Role::kState);
  build.Add("mixer.convolution.bias", {spec.width}, Role::kState);
  const int64_t block = spec.width / spec.heads;
  for (const char* name : {"mixer.input_gate", "mixer.recurrent_gate"}) {
    build.Add(fmt::format("{}.weight", name), {spec.heads, block, block}, Role::kState);
    build.Add(fmt::format("{}.bias", name), {spec.heads, block}, Role::kState);
  }
  build.Add("mixer.decay", {spec.width}, Role::kState);
  build.Linear("mixer.out_proj", hidden, spec.width, true, Role::kRow);
}

}  // namespace

int64_t RecurrenceSpec::StateElements() const {
  const int64_t inputs = (convolution - 1) * ConvolvedWidth();
  if (kind == Kind::kGatedDelta) return inputs + heads * key_dim * value_dim;
  return kind == Kind::kGatedLinear ? inputs + width : inputs;
}

int64_t RecurrenceSpec::SavedEach() const {
  if (kind == Kind::kGatedDelta) return 2 * ConvolvedWidth() + 2 * heads + 3 * ValueWidth();
  return kind == Kind::kGatedLinear ? 7 * width : 5 * width;
}

Result<RecurrenceSpec> ReadRecurrence(const ConfigJson& config, const std::string& model_type, int64_t hidden,
                                      int64_t attention_heads) {
  RecurrenceSpec spec;
  if (model_type == "qwen3_next" || model_type == "qwen3_5_text" || model_type == "qwen3_5_moe_text") {
    spec.kind = Kind::kGatedDelta;
    MEMSTRATA_TRY(ReadGatedDelta(config, spec));
  } else if (model_type == "lfm2" || model_type == "lfm2_moe") {
    spec.kind = Kind::kShortConvolution;
    MEMSTRATA_ASSIGN_OR_RETURN(spec.convolution, config.Integer("conv_L_cache", 3));
    spec.has_bias = config.Flag("conv_bias", false);
    spec.width = hidden;
  } else if (model_type == "recurrent_gemma") {
    spec.kind = Kind::kGatedLinear;
    MEMSTRATA_TRY(ReadGatedLinear(config, hidden, attention_heads, spec));
  } else {
    return spec;
  }
  MEMSTRATA_TRY(CheckSizes(spec));
  return spec;
}

void AddRecurrence(const RecurrenceSpec& spec, int64_t hidden, ParameterBuilder& build) {
  if (spec.kind == Kind::kGatedDelta) AddGatedDelta(spec, hidden, build);
  if (spec.kind == Kind::kShortConvolution) AddShortConvolution(spec, hidden, build);
  if (spec.kind == Kind::kGatedLinear) AddGatedLinear(spec, hidden, build);
}

}  // namespace memstrata::plan
