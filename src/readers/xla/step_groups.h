#pragma once
// Step numbers for memory events of traces that carry none: every event inside a step, also on other threads, gets the
// number of the step. Steps are root events (statistic "_r": step annotations, function runs); work handed to other
// threads is followed through producer and consumer ids ("_pt", "_p" → "_ct", "_c") and executor step ids.
//
// Two numberings come out: XProf's, in which every iteration of a TensorFlow loop counts as a step, and ours, in which
// only root events do. Rules: docs/formats/xplane.md, "Step numbers".

#include <cstdint>
#include <string_view>

#include "base/flat_map.h"
#include "readers/xla/xspace.h"

namespace memstrata::xla {

struct StepOfEvent {
  int64_t step;  // kNoStep outside of any step
  int64_t xprof_step;
};

class StepGroups {
 public:
  /// The steps of one memory event, by the bytes of its message.
  const StepOfEvent* Find(std::string_view event) const {
    const auto found = steps_.find(reinterpret_cast<uintptr_t>(event.data()));
    return found == steps_.end() ? nullptr : &found->second;
  }
  void Add(std::string_view event, StepOfEvent steps) { steps_[reinterpret_cast<uintptr_t>(event.data())] = steps; }
  bool empty() const { return steps_.empty(); }
  /// Whether the two numberings differ anywhere.
  bool differ = false;
  /// Producers and consumers that were not connected because there were too many of them.
  uint64_t skipped_connections = 0;

 private:
  FlatMap<uint64_t, StepOfEvent> steps_;
};

/// Groups the events of the host planes. Empty when the file has its own step numbers, no root events, or the
/// TensorFlow loop operations that make XProf give up. Cost: decodes every host event once, about 80 bytes each while
/// it runs.
StepGroups GroupSteps(const Space& space, ScratchBytes& bytes);

}  // namespace memstrata::xla
