#pragma once
// Steps and program runs of a device plane as spans of the session.

#include "model/store/store_builder.h"
#include "readers/xla/device_steps.h"
#include "readers/xla/xspace.h"

namespace memstrata::xla {

/// The line of a device plane whose events are runs of programs.
inline constexpr std::string_view kModulesLine = "XLA Modules";

/// Adds one run of a program: its row among the modules, and its span on `track`.
void AddModuleRun(XPlaneModule module, int64_t unix_begin_ns, uint32_t track, Store& store);
/// Adds the events of the lines "Steps" and "XLA Modules", and the former to `steps`. Line starts count from
/// `line_base_ns`; `unix_begin_ns` is the profiler's time zero.
void AddPlaneSpans(const Plane& plane, int64_t line_base_ns, int64_t unix_begin_ns, DeviceSteps& steps,
                   ScratchBytes& bytes, StoreBuilder& builder);

}  // namespace memstrata::xla
