#include "plan/assumed_structure.h"

#include "plan/constants.h"

namespace memstrata::plan {
namespace {

uint64_t Scaled(uint64_t bytes, double factor) { return static_cast<uint64_t>(static_cast<double>(bytes) * factor); }

bool IsOfTheModel(const Line& line) {
  for (const char* term : {"context", "communicators", "asset", "workspace", "processes"}) {
    if (line.term == term) return false;
  }
  return true;
}

}  // namespace

void WidenToAssumed(std::vector<Line>& lines) {
  const Constant& bounds = GetConstant("assumed_structure");
  for (Line& line : lines) {
    if (!IsOfTheModel(line)) continue;
    line.basis = Basis::kAssumed;
    line.low_bytes = Scaled(line.low_bytes, bounds.low);
    line.high_bytes = Scaled(line.high_bytes, bounds.high);
  }
}

void WidenToAssumed(DevicePlan& device) {
  const Constant& bounds = GetConstant("assumed_structure");
  WidenToAssumed(device.lines);
  device.framework_peak_low_bytes = Scaled(device.framework_peak_low_bytes, bounds.low);
  device.framework_peak_high_bytes = Scaled(device.framework_peak_high_bytes, bounds.high);
}

}  // namespace memstrata::plan
