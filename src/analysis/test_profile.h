#pragma once
// For tests: a heap of an XPlane profile, event by event, with launches and plans of programs.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/ingest/allocation_tracker.h"
#include "model/store/store_builder.h"

namespace memstrata {

class SmallProfile {
 public:
  SmallProfile() {
    builder_.AddSource({.file = "host0.xplane.pb", .format = "xplane"});
    store().xplane.lines.push_back({.begin_ps = 0, .source = 0, .is_first_host_plane = true, .name = StringId{0}});
    store().xplane.lines.push_back({.begin_ps = 0, .source = 0, .is_first_host_plane = true, .name = StringId{0}});
    builder_.InternStream(0);
  }
  Store& store() { return builder_.store(); }

  void Event(EventKind kind, int64_t time_ps, uint32_t line, uint64_t addr, uint64_t requested_bytes,
             uint64_t size_bytes, std::string_view region = "") {
    heap_bytes_ += kind == EventKind::kAlloc ? size_bytes : -size_bytes;
    EventTable& events = store().events;
    events.kind.PushBack(kind);
    events.addr.PushBack(addr);
    events.size_bytes.PushBack(size_bytes);
    events.time_ns.PushBack(time_ps / 1000);
    events.stream.PushBack(0);
    events.stack.PushBack(StackId{0});
    XPlaneEventTable& details = store().xplane.events;
    details.time_ps.PushBack(time_ps);
    details.line.PushBack(line);
    details.stack_bytes.PushBack(stack_bytes_);
    details.heap_bytes.PushBack(heap_bytes_);
    details.requested_bytes.PushBack(requested_bytes);
    details.region.PushBack(store().strings.Intern(region));
  }
  void set_stack_bytes(uint64_t bytes) { stack_bytes_ = bytes; }
  void set_heap_bytes(uint64_t bytes) { heap_bytes_ = bytes; }

  void Launch(std::string_view module, std::optional<uint64_t> id, uint32_t line, int64_t begin_ps, int64_t end_ps) {
    store().xplane.launches.push_back({store().strings.Intern(module), id, 0, line, begin_ps, end_ps});
  }
  void DeviceRun(std::string_view name, std::string_view plane, int64_t begin_ps, int64_t duration_ps) {
    store().xplane.modules.push_back(
        {store().strings.Intern(name), store().strings.Intern(plane), 0, 0, begin_ps, duration_ps, true, kNone});
  }
  void Plan(std::string name, std::string label, std::vector<ProgramAllocation> allocations) {
    Program program;
    program.name = std::move(name);
    program.label = std::move(label);
    program.allocations = std::move(allocations);
    store().programs.push_back(std::move(program));
  }

  /// Pairs the events to blocks, as readers do. Once, after the last event.
  const Heap& Pair() {
    Heap heap;
    heap.id = "GPU_0_bfc";
    heap.events = {0, static_cast<uint32_t>(store().events.size())};
    store().heaps.push_back(heap);
    EXPECT_TRUE(AllocationTracker(builder_, store().heaps[0], nullptr).Run(nullptr));
    return store().heaps[0];
  }

 private:
  StoreBuilder builder_;
  uint64_t stack_bytes_ = 0;
  uint64_t heap_bytes_ = 0;
};

}  // namespace memstrata
