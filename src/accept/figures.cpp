#include "accept/figures.h"

#include <fmt/format.h>

#include <algorithm>

namespace memstrata::accept {
namespace {

constexpr double kNsPerS = 1e9;

Measured GrowthOfMember(const std::vector<Iteration>& iterations, std::optional<uint64_t> Iteration::*member,
                        std::string_view what) {
  std::vector<const Iteration*> measured;
  for (const Iteration& iteration : iterations) {
    if (!iteration.is_warmup) measured.push_back(&iteration);
  }
  if (measured.size() < 2) return {std::nullopt, false, "Growth needs two measured iterations or more."};
  const std::optional<uint64_t> first = measured.front()->*member;
  const std::optional<uint64_t> last = measured.back()->*member;
  if (!first || !last)
    return {std::nullopt, false, "Neither device nor kernel said what was live after the iterations."};
  const double growth =
      (static_cast<double>(*last) - static_cast<double>(*first)) / static_cast<double>(measured.size() - 1);
  return {growth, false, fmt::format("{} after the last of {} iterations against the first.", what, measured.size())};
}

}  // namespace

Measured GrowthOf(const std::vector<Iteration>& iterations) {
  const Measured on_device =
      GrowthOfMember(iterations, &Iteration::device_live_bytes, "What PyTorch holds on the devices");
  return on_device.value ? on_device : HostGrowthOf(iterations);
}

Measured HostGrowthOf(const std::vector<Iteration>& iterations) {
  return GrowthOfMember(iterations, &Iteration::resident_bytes, "Resident memory of the process");
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
