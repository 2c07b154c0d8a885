#pragma once
// Step numbers for memory events of traces that have none on the host, from the line "Steps" of their device: an event
// belongs to the step that the device ran at its time. Hosts run ahead of devices, so that this is the step of the
// moment, not of the call; XProf gives such events no step.

#include <vector>

#include "readers/xla/memory_events.h"

namespace memstrata::xla {

class DeviceSteps {
 public:
  /// Adds a step of a device. Its number is its name where that is one, else its place among the steps added.
  void Add(uint32_t device, int64_t begin_ps, int64_t duration_ps, std::string_view name);
  /// Gives steps to the events of each device with steps; returns how many got one. Does nothing when an event has a
  /// step already. Cost: O(events log steps).
  uint64_t Fill(DecodedEvents& events, const StringPool& strings);

 private:
  struct Step {
    uint32_t device;
    int64_t begin_ps;
    int64_t end_ps;
    int64_t number;
  };
  const Step* At(uint32_t device, int64_t time_ps) const;

  std::vector<Step> steps_;
};

}  // namespace memstrata::xla
