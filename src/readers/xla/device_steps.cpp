#include "readers/xla/device_steps.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "readers/xla/memory_ids.h"

namespace memstrata::xla {

void DeviceSteps::Add(uint32_t device, int64_t begin_ps, int64_t duration_ps, std::string_view name) {
  int64_t number = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = problem == std::errc{} && end == name.data() + name.size();
  if (!is_number || number == kNoStep) number = static_cast<int64_t>(steps_.size());
  steps_.push_back({device, begin_ps, begin_ps + duration_ps, number});
}

// The step that began last at or before the time, if it still runs.
const DeviceSteps::Step* DeviceSteps::At(uint32_t device, int64_t time_ps) const {
  const auto after =
      std::upper_bound(steps_.begin(), steps_.end(), std::tuple(device, time_ps),
                       [](const auto& key, const Step& step) { return key < std::tuple(step.device, step.begin_ps); });
  if (after == steps_.begin()) return nullptr;
  const Step& step = *std::prev(after);
  return step.device == device && time_ps < step.end_ps ? &step : nullptr;
}

uint64_t DeviceSteps::Fill(DecodedEvents& events, const StringPool& strings) {
  XPlaneEventTable& details = events.details;
  const auto steps = details.step.span();
  if (steps_.empty() || std::any_of(steps.begin(), steps.end(), [](int64_t step) { return step != kNoStep; })) return 0;
  std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) {
    return std::tuple(a.device, a.begin_ps, a.number) < std::tuple(b.device, b.begin_ps, b.number);
  });
  details.xprof_step.Resize(details.size(), kNoStep);
  uint64_t filled = 0;
  for (size_t row = 0; row < events.size(); ++row) {
    const std::string_view name = strings.Get(events.memory_ids[events.memory_id[row]].name);
    if (IsHostMemory(name)) continue;
    const Step* step = At(DeviceOf(name), details.time_ps[row]);
    if (step == nullptr) continue;
    details.step[row] = step->number;
    ++filled;
  }
  return filled;
}

}  // namespace memstrata::xla
