#pragma once
// When compiled programs ran on GPUs, where no line "XLA Modules" says it. The host's events do: an event with the
// statistic `module_name` runs a program; the outermost event of an executable around it is the call, in which the
// program's memory is allocated. Kernels belong to the call whose launch has their correlation id.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/flat_map.h"
#include "model/store/store_builder.h"
#include "readers/xla/xspace.h"

namespace memstrata::xla {

class LaunchFinder {
 public:
  LaunchFinder(StoreBuilder& builder, ScratchBytes& bytes) : builder_(builder), bytes_(bytes) {}

  /// Reads a line of a host plane; `begin_ps` is its start from the profiler's time zero, `line` its row in
  /// XPlaneTable::lines. Does nothing for planes without the statistics in question. Cost: O(events log events).
  void AddHostLine(const Plane& plane, std::string_view message, int64_t begin_ps, uint32_t line);
  /// Reads the kernels of a device plane. Cost: O(events).
  void AddDevicePlane(const Plane& plane, int64_t line_base_ns);
  /// Puts launches into the store, and what they ran on devices as spans and modules.
  void Finish(int64_t unix_begin_ns);

 private:
  struct Call {  // an event on a host line
    int64_t begin_ps;
    int64_t end_ps;
    uint32_t module;  // → strings; kNone: an executable's event around one
  };
  struct KernelLaunch {
    uint64_t program_id;
    uint64_t correlation_id;
    int64_t begin_ps;
    uint32_t module;
  };
  struct Kernel {
    uint64_t correlation_id;
    int64_t begin_ps;
    int64_t end_ps;
    uint32_t plane;  // → strings
    uint32_t track;
  };
  struct EventFields;

  EventFields ReadEvent(std::string_view bytes, const Plane& plane) const;
  void AddLaunches(std::vector<Call> calls, uint32_t line);
  void AddDeviceRuns(const FlatMap<uint64_t, uint32_t>& launch_of_correlation, int64_t unix_begin_ns);

  StoreBuilder& builder_;
  ScratchBytes& bytes_;
  std::vector<XPlaneLaunch> launches_;
  std::vector<KernelLaunch> kernel_launches_;
  std::vector<Kernel> kernels_;
};

}  // namespace memstrata::xla
