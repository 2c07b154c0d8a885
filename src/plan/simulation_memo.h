#pragma once
// Steps of one model and workload that were simulated already: cards that treat a step alike need it only once.

#include <functional>
#include <map>
#include <tuple>

#include "plan/eager/simulation.h"

namespace memstrata::plan {

class SimulationMemo {
 public:
  using Simulator = std::function<eager::SimulationResult(const eager::SimulationOptions&)>;

  /// The result of `simulate(options)`, where it can be without running it: a step that never needs as much as the
  /// device gives runs as on an endless one, and one that requests more than it gives fails. Cards far too small differ
  /// in scratch memory alone (some MiB), so for them any card with the same workspaces will do.
  eager::SimulationResult Find(const eager::SimulationOptions& options, const Simulator& simulate);

 private:
  using Traits = std::tuple<uint64_t, int32_t, int32_t>;  // workspace, multiprocessors, threads of each
  std::map<Traits, eager::SimulationResult> endless_;
};

}  // namespace memstrata::plan
