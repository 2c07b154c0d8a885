#pragma once
// Where one step ends and the next begins.

#include <span>
#include <vector>

#include "analysis/phases/loop_jumps.h"
#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// First event of each step, in order, from the phase of each event. Training: a step is one update of the weights,
/// with all the forwards and backwards that it accumulates; where stacks exist it begins where the program's loop jumps
/// back to an earlier line, else with the first phase that only comes first. Inference: a step is one call of the
/// model. `calls` and `jumps` are empty without
/// stacks. cost: O(events · stack depth) at most
std::vector<uint32_t> FindStepBegins(const Store& store, const Heap& heap, const std::vector<Phase>& phases,
                                     const PythonCalls& calls, std::span<const LoopJump> jumps);

}  // namespace memstrata
