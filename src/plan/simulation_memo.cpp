#include "plan/simulation_memo.h"

namespace memstrata::plan {
namespace {

constexpr double kFarTooSmall = 0.9;  // of what is requested

eager::SimulationResult Failed(eager::SimulationResult result) {
  result.out_of_memory = eager::OutOfMemory{};
  return result;
}

}  // namespace

eager::SimulationResult SimulationMemo::Find(const eager::SimulationOptions& options, const Simulator& simulate) {
  const eager::DeviceTraits& device = options.device;
  const auto limit = static_cast<double>(options.device_limit_bytes.value_or(UINT64_MAX));
  for (const auto& [traits, result] : endless_) {
    const bool is_alike = std::get<0>(traits) == device.workspace_bytes;
    if (is_alike && limit < kFarTooSmall * static_cast<double>(result.peak.requested_bytes)) return Failed(result);
  }
  const Traits traits{device.workspace_bytes, device.multiprocessor_count, device.threads_per_multiprocessor};
  auto found = endless_.find(traits);
  if (found == endless_.end()) {
    eager::SimulationOptions endless = options;
    endless.device_limit_bytes.reset();
    found = endless_.emplace(traits, simulate(endless)).first;
  }
  const eager::SimulationResult& result = found->second;
  if (static_cast<double>(result.peak_reserved_bytes) <= limit) return result;
  if (static_cast<double>(result.peak.requested_bytes) > limit) return Failed(result);
  return simulate(options);
}

}  // namespace memstrata::plan
