#include "readers/xla/program_launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "readers/xla/loading_walk.h"
#include "readers/xla/plane_spans.h"

namespace memstrata::xla {
namespace {

using protozero::tag_and_type;

// Times beyond these are damage; their sum still fits.
constexpr int64_t kDayPs = int64_t{24} * 3600 * 1'000'000'000'000;
constexpr int64_t kLongestLineStartNs = 40 * (kDayPs / 1000);
constexpr int64_t kLongestOffsetPs = 50 * kDayPs;
constexpr int64_t kLongestDurationPs = 10 * kDayPs;

// Launches and kernels that are compared, at most: real traces compare each kernel with a few launches.
constexpr uint64_t kMostComparisons = 20'000'000;

bool Contains(const NameTable& table, std::string_view name) {
  return std::find(table.names().begin(), table.names().end(), name) != table.names().end();
}

}  // namespace

struct LaunchFinder::EventFields {
  std::string_view name;
  std::string_view module_name;  // the program that the event runs
  std::string_view hlo_module;   // the program that the kernel belongs to
  std::optional<uint64_t> program_id;
  std::optional<uint64_t> correlation_id;
  int64_t offset_ps = 0;
  int64_t duration_ps = 0;

  bool is_possible() const {
    return offset_ps > -kLongestOffsetPs && offset_ps < kLongestOffsetPs && duration_ps >= 0 &&
           duration_ps < kLongestDurationPs;
  }
};

// Throws protozero::exception.
LaunchFinder::EventFields LaunchFinder::ReadEvent(std::string_view bytes, const Plane& plane) const {
  EventFields event;
  WireMessage message(bytes);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case tag_and_type(1, WireType::varint):
        event.name = plane.event_names.Name(message.get_int64());
        break;
      case tag_and_type(2, WireType::varint):
        event.offset_ps = message.get_int64();
        break;
      case tag_and_type(3, WireType::varint):
        event.duration_ps = message.get_int64();
        break;
      case tag_and_type(4, WireType::length_delimited): {
        const Stat stat = ReadStat(message.get_view());
        const std::string_view key = plane.stat_names.Name(stat.name_id);
        const std::string_view text =
            stat.kind == Stat::kReference ? plane.stat_names.Name(static_cast<int64_t>(stat.bits)) : stat.text;
        if (key == "module_name") event.module_name = text;
        if (key == "hlo_module") event.hlo_module = text;
        if (key == "program_id") event.program_id = stat.bits;
        if (key == "correlation_id") event.correlation_id = stat.bits;
        break;
      }
      default:
        message.skip();
    }
  }
  return event;
}

void LaunchFinder::AddHostLine(const Plane& plane, std::string_view message, int64_t begin_ps, uint32_t line) {
  const bool has_runs = Contains(plane.stat_names, "module_name");
  if (!has_runs && !Contains(plane.stat_names, "hlo_module")) return;
  StringPool& strings = builder_.store().strings;
  std::vector<Call> calls;
  LoadingWalk walk(message, bytes_);
  while (walk.NextEvent()) {
    EventFields event;
    // The decoder of memory events counts damaged events.
    const Status status = GuardMessage(0, [&] { event = ReadEvent(walk.payload(), plane); });
    if (!status || !event.is_possible()) continue;
    const int64_t event_begin_ps = begin_ps + event.offset_ps;
    const bool is_around = event.name.find("Executable") != std::string_view::npos;
    if (!event.module_name.empty()) {
      calls.push_back({event_begin_ps, event_begin_ps + event.duration_ps, strings.Intern(event.module_name).value});
    } else if (is_around) {
      calls.push_back({event_begin_ps, event_begin_ps + event.duration_ps, kNone});
    }
    if (event.program_id && !event.hlo_module.empty()) {
      kernel_launches_.push_back({*event.program_id, event.correlation_id.value_or(UINT64_MAX), event_begin_ps,
                                  strings.Intern(event.hlo_module).value});
    }
  }
  AddLaunches(std::move(calls), line);
}

// Of calls inside each other, the outermost that has a program in it is the launch.
void LaunchFinder::AddLaunches(std::vector<Call> calls, uint32_t line) {
  std::stable_sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
    return a.begin_ps != b.begin_ps ? a.begin_ps < b.begin_ps : a.end_ps > b.end_ps;
  });
  const Call* outermost = nullptr;
  for (const Call& call : calls) {
    if (outermost == nullptr || call.begin_ps >= outermost->end_ps) outermost = &call;
    if (call.module == kNone) continue;
    const bool is_inside_launch =
        !launches_.empty() && launches_.back().line == line && call.begin_ps < launches_.back().end_ps;
    if (is_inside_launch) continue;
    launches_.push_back({.module = StringId{call.module},
                         .program_id = {},
                         .source = builder_.current_source(),
                         .line = line,
                         .begin_ps = outermost->begin_ps,
                         .end_ps = std::max(outermost->end_ps, call.end_ps)});
  }
}

void LaunchFinder::AddDevicePlane(const Plane& plane, int64_t line_base_ns) {
  if (!Contains(plane.stat_names, "hlo_module") || !Contains(plane.stat_names, "correlation_id")) return;
  const uint32_t plane_name = builder_.store().strings.Intern(plane.name).value;
  for (uint32_t track = 0; track < plane.lines.size(); ++track) {
    const Line header = ReadLineHeader(plane.lines[track], bytes_);
    if (header.name == kModulesLine) return;  // the plane says itself which programs ran
    if (header.begin_ns < -kLongestLineStartNs || header.begin_ns - kLongestLineStartNs > line_base_ns) continue;
    const int64_t begin_ns = header.begin_ns - line_base_ns;
    LoadingWalk walk(plane.lines[track], bytes_);
    while (walk.NextEvent()) {
      EventFields event;
      const Status status = GuardMessage(0, [&] { event = ReadEvent(walk.payload(), plane); });
      if (!status || !event.is_possible() || !event.correlation_id || event.hlo_module.empty()) continue;
      const int64_t begin_ps = begin_ns * 1000 + event.offset_ps;
      kernels_.push_back({*event.correlation_id, begin_ps, begin_ps + event.duration_ps, plane_name, track});
    }
  }
}

void LaunchFinder::Finish(int64_t unix_begin_ns) {
  std::stable_sort(launches_.begin(), launches_.end(),
                   [](const XPlaneLaunch& a, const XPlaneLaunch& b) { return a.begin_ps < b.begin_ps; });
  std::stable_sort(kernel_launches_.begin(), kernel_launches_.end(),
                   [](const KernelLaunch& a, const KernelLaunch& b) { return a.begin_ps < b.begin_ps; });
  FlatMap<uint64_t, uint32_t> launch_of_correlation;
  uint64_t comparisons = 0;
  for (uint32_t i = 0; i < launches_.size(); ++i) {
    XPlaneLaunch& launch = launches_[i];
    auto kernel = std::lower_bound(kernel_launches_.begin(), kernel_launches_.end(), launch.begin_ps,
                                   [](const KernelLaunch& a, int64_t begin_ps) { return a.begin_ps < begin_ps; });
    for (; kernel != kernel_launches_.end() && kernel->begin_ps <= launch.end_ps; ++kernel) {
      if (++comparisons > kMostComparisons) break;
      if (kernel->module != launch.module.value) continue;
      if (!launch.program_id) launch.program_id = kernel->program_id;
      if (kernel->correlation_id != UINT64_MAX) launch_of_correlation.try_emplace(kernel->correlation_id, i);
    }
  }
  if (comparisons > kMostComparisons) {
    builder_.diagnostics().Note(Severity::kWarning, "unconnected_kernels",
                                "So many program runs overlap that not all kernels were assigned to one of them.");
  }
  AddDeviceRuns(launch_of_correlation, unix_begin_ns);
  std::vector<XPlaneLaunch>& all = builder_.store().xplane.launches;
  all.insert(all.end(), launches_.begin(), launches_.end());
}

// One span for what a launch ran on a device.
void LaunchFinder::AddDeviceRuns(const FlatMap<uint64_t, uint32_t>& launch_of_correlation, int64_t unix_begin_ns) {
  struct Run {
    int64_t begin_ps;
    int64_t end_ps;
    uint32_t track;
  };
  std::map<std::pair<uint32_t, uint32_t>, Run> runs;  // plane, launch
  for (const Kernel& kernel : kernels_) {
    const auto launch = launch_of_correlation.find(kernel.correlation_id);
    if (launch == launch_of_correlation.end()) continue;
    const auto [entry, is_new] =
        runs.try_emplace({kernel.plane, launch->second}, Run{kernel.begin_ps, kernel.end_ps, kernel.track});
    entry->second.begin_ps = std::min(entry->second.begin_ps, kernel.begin_ps);
    entry->second.end_ps = std::max(entry->second.end_ps, kernel.end_ps);
  }
  Store& store = builder_.store();
  for (const auto& [key, run] : runs) {
    const XPlaneLaunch& launch = launches_[key.second];
    const std::string name = launch.program_id ? fmt::format("{}({})", store.String(launch.module), *launch.program_id)
                                               : std::string(store.String(launch.module));
    AddModuleRun({.name = store.strings.Intern(name),
                  .plane = StringId{key.first},
                  .source = launch.source,
                  .line_begin_ps = 0,
                  .offset_ps = run.begin_ps,
                  .duration_ps = run.end_ps - run.begin_ps},
                 unix_begin_ns, run.track, store);
  }
}

}  // namespace memstrata::xla
