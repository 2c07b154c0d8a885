#include "accept/figures.h"

#include <fmt/format.h>

#include <algorithm>

namespace memstrata::accept {
namespace {

constexpr double kNsPerS = 1e9;

}  // namespace

Measured GrowthOf(const std::vector<Iteration>& iterations) {
  std::vector<const Iteration*> measured;
  for (const Iteration& iteration : iterations) {
    if (!iteration.is_warmup) measured.push_back(&iteration);
  }
  if (measured.size() < 2) return {std::nullopt, false, "Growth needs two measured iterations or more."};
  const Iteration& first = *measured.front();
  const Iteration& last = *measured.back();
  const bool on_device = first.device_live_bytes && last.device_live_bytes;
  if (!on_device && !(first.resident_bytes && last.resident_bytes))
    return {std::nullopt, false, "Neither device nor kernel said what was live after the iterations."};
  const auto of = [&](const Iteration& iteration) {
    return static_cast<double>(on_device ? *iteration.device_live_bytes : *iteration.resident_bytes);
  };
  const double growth = (of(last) - of(first)) / static_cast<double>(measured.size() - 1);
  return {
      growth, false,
      fmt::format("{} after the last of {} iterations against the first.",
                  on_device ? "What PyTorch holds on the devices" : "Resident memory of the process", measured.size())};
}

Measured MedianTimeOf(const std::vector<Iteration>& iterations) {
  std::vector<int64_t> durations_ns;
  for (const Iteration& iteration : iterations) {
    if (!iteration.is_warmup) durations_ns.push_back(iteration.duration_ns);
  }
  if (durations_ns.empty()) return {std::nullopt, false, "No measured iteration was finished."};
  const size_t middle = durations_ns.size() / 2;
  std::nth_element(durations_ns.begin(), durations_ns.begin() + static_cast<std::ptrdiff_t>(middle),
                   durations_ns.end());
  return {static_cast<double>(durations_ns[middle]) / kNsPerS, false,
          fmt::format("The median of {} iterations.", durations_ns.size())};
}

}  // namespace memstrata::accept
