#include "readers/xla/plane_spans.h"

#include "readers/xla/loading_walk.h"
#include "readers/xla/memory_ids.h"

namespace memstrata::xla {
namespace {

using protozero::tag_and_type;

// Line starts and offsets beyond 46 days, and lengths beyond 10, are damage; their sum in picoseconds still fits.
constexpr int64_t kLongestNs = 4'000'000'000'000'000;
constexpr int64_t kLongestDurationPs = int64_t{10} * 24 * 3600 * 1'000'000'000'000;

struct SpanEvent {
  int64_t name_id = 0;
  int64_t offset_ps = 0;
  int64_t duration_ps = 0;
};

SpanEvent ReadSpanEvent(std::string_view bytes) {
  SpanEvent event;
  WireMessage message(bytes);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case tag_and_type(1, WireType::varint):
        event.name_id = message.get_int64();
        break;
      case tag_and_type(2, WireType::varint):
        event.offset_ps = message.get_int64();
        break;
      case tag_and_type(3, WireType::varint):
        event.duration_ps = message.get_int64();
        break;
      default:
        message.skip();
    }
  }
  return event;
}

void AddSpan(SpanTable& spans, StringId name, SpanKind kind, int64_t begin_ns, int64_t end_ns, uint32_t track) {
  spans.name.PushBack(name);
  spans.kind.PushBack(kind);
  spans.begin_ns.PushBack(begin_ns);
  spans.end_ns.PushBack(end_ns);
  spans.heap.PushBack(kNone);
  spans.begin_seq.PushBack(kNone);
  spans.end_seq.PushBack(kNone);
  spans.depth.PushBack(0);
  spans.track.PushBack(track);
}

}  // namespace

void AddModuleRun(XPlaneModule module, int64_t unix_begin_ns, uint32_t track, Store& store) {
  const int64_t begin_ns = unix_begin_ns + module.line_begin_ps / 1000 + module.offset_ps / 1000;
  module.span = static_cast<uint32_t>(store.spans.size());
  AddSpan(store.spans, module.name, SpanKind::kModule, begin_ns, begin_ns + module.duration_ps / 1000, track);
  store.xplane.modules.push_back(module);
}

void AddPlaneSpans(const Plane& plane, int64_t line_base_ns, int64_t unix_begin_ns, DeviceSteps& steps,
                   ScratchBytes& bytes, StoreBuilder& builder) {
  Store& store = builder.store();
  for (uint32_t track = 0; track < plane.lines.size(); ++track) {
    const Line line = ReadLineHeader(plane.lines[track], bytes);
    const bool is_modules = line.name == kModulesLine;
    if (!is_modules && line.name != "Steps") continue;
    LoadingWalk walk(plane.lines[track], bytes);
    while (walk.NextEvent()) {
      SpanEvent event;
      const Status status = GuardMessage(0, [&] { event = ReadSpanEvent(walk.payload()); });
      const bool fits = line.begin_ns > -kLongestNs && line.begin_ns - kLongestNs < line_base_ns &&
                        event.duration_ps >= 0 && event.duration_ps < kLongestDurationPs &&
                        event.offset_ps > -kLongestNs * 1000 && event.offset_ps < kLongestNs * 1000;
      if (!status || !fits) {
        builder.diagnostics().Note(Severity::kWarning, "damaged_span",
                                   "A step or program run is damaged and left out.");
        continue;
      }
      const StringId name = store.strings.Intern(plane.event_names.Name(event.name_id));
      const int64_t line_begin_ns = line.begin_ns - line_base_ns;
      if (is_modules) {
        AddModuleRun({.name = name,
                      .plane = store.strings.Intern(plane.name),
                      .source = builder.current_source(),
                      .line_begin_ps = line_begin_ns * 1000,
                      .offset_ps = event.offset_ps,
                      .duration_ps = event.duration_ps,
                      .is_tpu = plane.name.starts_with("/device:TPU:")},
                     unix_begin_ns, track, store);
        continue;
      }
      steps.Add(DeviceOf(plane.name), line_begin_ns * 1000 + event.offset_ps, event.duration_ps,
                plane.event_names.Name(event.name_id));
      const int64_t begin_ns = unix_begin_ns + line_begin_ns + event.offset_ps / 1000;
      AddSpan(store.spans, name, SpanKind::kStep, begin_ns, begin_ns + event.duration_ps / 1000, track);
    }
  }
}

}  // namespace memstrata::xla
