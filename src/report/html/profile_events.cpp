#include "report/html/profile_events.h"

#include <limits>

#include "report/html/plane_table.h"

namespace memstrata {

void WriteProfileEvents(FrameWriter& frame, const Store& store, const Heap& heap) {
  if (!store.HasXPlaneDetails(heap)) return;
  const XPlaneEventTable& details = store.xplane.events;
  frame.attributes().Field("memory_id",
                           store.String(store.xplane.memory_ids[static_cast<size_t>(&heap - store.heaps.data())]));
  frame.StartTable("profile", heap.events.size());
  const auto numbers = [&](std::string_view name, auto&& value_of) {
    std::vector<uint64_t> values;
    for (uint32_t row = heap.events.begin; row < heap.events.end; ++row)
      values.push_back(static_cast<uint64_t>(value_of(row)));
    WritePlanes(frame, name, Differences(values));
  };
  const auto texts = [&](std::string_view name, auto&& id_of) {
    std::vector<std::string_view> values;
    for (uint32_t row = heap.events.begin; row < heap.events.end; ++row) values.push_back(store.String(id_of(row)));
    frame.Strings(name, values);
  };
  numbers("time_ps", [&](uint32_t row) { return details.time_ps[row]; });
  numbers("stack", [&](uint32_t row) { return details.stack_bytes[row]; });
  numbers("heap", [&](uint32_t row) { return details.heap_bytes[row]; });
  // Counted from 1; 0 is not known.
  numbers("free", [&](uint32_t row) { return details.free_bytes[row] + 1; });
  numbers("lifetime_peak", [&](uint32_t row) { return details.peak_bytes[row]; });
  numbers("requested", [&](uint32_t row) { return details.requested_bytes[row]; });
  numbers("allocation", [&](uint32_t row) { return store.events.size_bytes[row]; });
  numbers("step", [&](uint32_t row) { return details.step[row] == kNoStep ? 0 : details.step[row] + 1; });
  texts("thread", [&](uint32_t row) { return store.xplane.lines[details.line[row]].name; });
  texts("op", [&](uint32_t row) { return details.op[row]; });
  texts("region_type", [&](uint32_t row) { return details.region[row]; });
  texts("data_type", [&](uint32_t row) { return details.data_type[row]; });
  texts("shape", [&](uint32_t row) { return details.shape[row]; });
  std::vector<double> fragmentation;
  for (uint32_t row = heap.events.begin; row < heap.events.end; ++row) {
    fragmentation.push_back(details.nan[row] != 0 ? std::numeric_limits<double>::quiet_NaN()
                                                  : details.fragmentation[row]);
  }
  frame.Values<double>("fragmentation", "share", fragmentation);
}

}  // namespace memstrata
