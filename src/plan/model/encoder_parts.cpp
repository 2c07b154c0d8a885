#include "plan/model/encoder_parts.h"

namespace memstrata::plan {

void AddPlainAttention(int64_t hidden, bool qkv_bias, ParameterBuilder& build) {
  for (const char* name : {"q_proj", "k_proj", "v_proj"}) build.Linear(name, hidden, hidden, qkv_bias, Role::kColumn);
  build.Linear("o_proj", hidden, hidden, true, Role::kRow);
}

void AddPlainMlp(int64_t hidden, int64_t intermediate, ParameterBuilder& build) {
  build.Linear("up_proj", intermediate, hidden, true, Role::kColumn);
  build.Linear("down_proj", hidden, intermediate, true, Role::kRow);
}

void AddAttentionPooling(int64_t hidden, int64_t intermediate, ParameterBuilder& build) {
  build.Add("query", {1, 1, hidden}, Role::kPosition);
  build.Linear("qkv_proj", 3 * hidden, hidden, true, Role::kColumn);
  build.Linear("o_proj", hidden, hidden, true, Role::kRow);
  build.Norm("norm", hidden, true);
  AddPlainMlp(hidden, intermediate, build);
}

}  // namespace memstrata::plan
