#include "plan/engine_profile.h"

#include <algorithm>

#include "plan/constants.h"

namespace memstrata::plan {

EngineProfile ProfileOf(const Workload& workload) {
  EngineProfile profile;
  switch (workload.engine) {
    case Engine::kMegatron:
      // 16-bit scores and their float32 form, which becomes the softmax and then the gradient in place.
      profile.logit_bytes_each = 6;
      profile.gradient_bytes_each = 4;
      profile.has_master_weights = workload.precision != Precision::kFloat32;
      break;
    case Engine::kTorchtitan:
      profile.keeps_gathered_in_pipeline = profile.keeps_products = profile.keeps_gathered_inputs = true;
      profile.saves_unfused = !workload.is_compiled;
      // The trainer holds the 16-bit scores while their float32 form, its softmax and two gradients are alive; a loss
      // over divided scores takes one more float32 form.
      profile.logit_bytes_each = workload.parallel.tensor > 1 ? 18 : 14;
      break;
    case Engine::kDeepSpeed:
      profile.has_master_weights = workload.precision != Precision::kFloat32;
      profile.saves_unfused = !workload.is_compiled;
      break;
    case Engine::kTorch:
      profile.saves_unfused = !workload.is_compiled;
      if (workload.is_compiled) profile.logit_bytes_each *= GetConstant("compiled_loss").best;
      break;
    case Engine::kJax:
      profile.logit_bytes_each *= GetConstant("compiled_loss").best;  // XLA fuses what torch.compile does
      break;
    case Engine::kVllm:
    case Engine::kSglang:
    case Engine::kLlamaCpp:
      break;
  }
  switch (workload.loss) {
    case Loss::kPlain:
      break;
    case Loss::kFused:
      if (workload.engine == Engine::kMegatron) {
        profile.logit_bytes_each += 4;  // another float32 form
      } else {
        profile.logit_bytes_each = 2;  // one kernel over 16-bit scores, which their gradient replaces
      }
      break;
    case Loss::kChunked:
      profile.logit_bytes_each /= 8;  // an eighth of the tokens at a time
      break;
    case Loss::kLinearFused:
      profile.logit_bytes_each = 0;
      break;
  }
  return profile;
}

PiecesInFlight InFlight(const Workload& workload, int64_t stage) {
  const Parallel& parallel = workload.parallel;
  PiecesInFlight in_flight;
  if (parallel.pipeline == 1) return in_flight;
  const int64_t behind = parallel.pipeline - stage - 1;
  if (parallel.virtual_stages <= 1) {  // one forward, one backward
    in_flight.pieces = static_cast<double>(std::min(workload.accumulation, behind + 1));
    return in_flight;
  }
  // Interleaved: warm-up of 2 pieces for each stage behind and one round for each further virtual stage.
  const int64_t warm_up =
      2 * behind +
      (parallel.virtual_stages - 1) * (parallel.virtual_group > 0 ? parallel.virtual_group : parallel.pipeline) + 1;
  in_flight.pieces = static_cast<double>(std::min(workload.accumulation * parallel.virtual_stages, warm_up));
  in_flight.layer_share = 1.0 / static_cast<double>(parallel.virtual_stages);
  return in_flight;
}

}  // namespace memstrata::plan
