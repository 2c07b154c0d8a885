#pragma once
// Steps and program runs of a device plane as spans of the session.

#include "model/store/store_builder.h"
#include "readers/xla/xspace.h"

namespace memstrata::xla {

/// Adds the events of the lines "Steps" and "XLA Modules". Line starts count from `line_base_ns`; `unix_begin_ns` is
/// the profiler's time zero.
void AddPlaneSpans(const Plane& plane, int64_t line_base_ns, int64_t unix_begin_ns, StoreBuilder& builder);

}  // namespace memstrata::xla
