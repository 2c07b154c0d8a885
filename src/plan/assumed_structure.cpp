#include "plan/assumed_structure.h"

#include "plan/constants.h"

namespace memstrata::plan {
namespace {

uint64_t Scaled(uint64_t bytes, double factor) { return static_cast<uint64_t>(static_cast<double>(bytes) * factor); }

bool IsOfTheModel(const Line& line) {
  return line.term != "context" && line.term != "communicators" && line.term != "asset" && line.term != "workspaces";
}

}  // namespace

void WidenToAssumed(DevicePlan& device) {
  const Constant& bounds = GetConstant("assumed_structure");
  for (Line& line : device.lines) {
    if (!IsOfTheModel(line)) continue;
    line.basis = Basis::kAssumed;
    line.low_bytes = Scaled(line.low_bytes, bounds.low);
    line.high_bytes = Scaled(line.high_bytes, bounds.high);
  }
  device.framework_peak_low_bytes = Scaled(device.framework_peak_low_bytes, bounds.low);
  device.framework_peak_high_bytes = Scaled(device.framework_peak_high_bytes, bounds.high);
}

}  // namespace memstrata::plan
