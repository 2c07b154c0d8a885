#include "readers/xla/xplane_reader.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/units.h"
#include "io/source/scratch_bytes.h"
#include "readers/xla/heap_builder.h"
#include "readers/xla/hlo_proto.h"
#include "readers/xla/parallel_decoder.h"
#include "readers/xla/plane_spans.h"
#include "readers/xla/program_launches.h"
#include "readers/xla/xspace.h"

namespace memstrata::xla {
namespace {

constexpr std::string_view kSuffixes[] = {".xplane.pb", ".xplane.pb.gz", ".xplane.pb.zst"};
constexpr std::string_view kHostPlane = "/host:CPU";
// Line starts above this (11 days) are on the Unix clock, below it since the start of the profiler.
constexpr int64_t kLargestRelativeNs = 1'000'000'000'000'000;
constexpr int64_t kLargestUnixNs = int64_t{1} << 62;
// Threads may write events a little out of order, but not by this much.
constexpr int64_t kClockJumpPs = 1'000'000'000'000;
constexpr int64_t kLongestLineStartNs = int64_t{40} * 24 * 3600 * 1'000'000'000;

bool LooksLikePlaneName(std::string_view name) {
  return name.starts_with("/host:") || name.starts_with("/device:") || name == "Task Environment";
}

Match Probe(const ProbeInput& input) {
  FieldWalk space(input.head);
  while (space.Next()) {
    if (!space.is_message() || space.field() > 4) return Match::kNo;
    if (space.field() != 1) continue;
    FieldWalk plane(space.payload());
    while (plane.Next()) {
      if (plane.field() == 2 && plane.is_message())
        return LooksLikePlaneName(plane.payload()) ? Match::kCertain : Match::kNo;
      if (plane.field() == 0 || plane.field() > 6) return Match::kNo;
    }
    break;
  }
  return HostOfFile(input.file).empty() ? Match::kNo : Match::kMaybe;  // damaged, but named like one
}

std::string_view BaseName(std::string_view file) {
  const size_t slash = file.rfind('/');
  return slash == std::string_view::npos ? file : file.substr(slash + 1);
}

// Where the profiler's time zero lies, and what to take off line starts to count from it.
struct Clock {
  int64_t unix_begin_ns = 0;
  int64_t line_base_ns = 0;
};

Clock FindClock(const Space& space, ScratchBytes& bytes) {
  Clock clock;
  int64_t first_ns = INT64_MAX;
  for (const Plane& plane : space.planes) {
    for (const Stat& stat : plane.stats) {
      if (plane.stat_names.Name(stat.name_id) == "profile_start_time")
        clock.unix_begin_ns = static_cast<int64_t>(stat.bits);
    }
    for (const std::string_view line : plane.lines) {
      const int64_t begin_ns = ReadLineHeader(line, bytes).begin_ns;
      if (begin_ns > kLargestRelativeNs && begin_ns < kLargestUnixNs) first_ns = std::min(first_ns, begin_ns);
    }
  }
  if (clock.unix_begin_ns < 0 || clock.unix_begin_ns > kLargestUnixNs) clock.unix_begin_ns = 0;
  if (first_ns != INT64_MAX) {  // not normalised: the file's times are Unix times
    if (clock.unix_begin_ns == 0 || clock.unix_begin_ns > first_ns) clock.unix_begin_ns = first_ns;
    clock.line_base_ns = clock.unix_begin_ns;
  }
  return clock;
}

class XPlaneReading {
 public:
  XPlaneReading(Input& input, StoreBuilder& builder, ScratchBytes& bytes, const Space& space)
      : input_(input),
        builder_(builder),
        bytes_(bytes),
        space_(space),
        clock_(FindClock(space, bytes)),
        launches_(builder, bytes),
        decoder_(bytes, builder.store().strings, events_) {}

  Status Run() {
    source_.source = builder_.current_source();
    source_.host = HostName();
    source_.unix_begin_ns = clock_.unix_begin_ns;
    steps_ = GroupSteps(space_, bytes_);
    decoder_.set_steps(steps_);
    for (const Plane& plane : space_.planes) ReadPlane(plane);
    launches_.Finish(clock_.unix_begin_ns);
    device_filled_count_ = device_steps_.Fill(events_, builder_.store().strings);
    counts_ = decoder_.counts();
    NoteProblems();
    const bool has_events = events_.size() > 0;
    source_.other_event_count = counts_.other_events;
    if (!has_events) ExplainEmpty();
    std::string host = source_.host;
    Source& row = builder_.store().sources[builder_.current_source()];
    row.truncated = space_.truncated || counts_.cut_off;
    builder_.store().xplane.sources.push_back(std::move(source_));
    return BuildHeaps(std::move(events_),
                      {.host = std::move(host), .unix_begin_ns = clock_.unix_begin_ns, .truncated = row.truncated},
                      builder_);
  }

 private:
  std::string HostName() const {
    std::string host = HostOfFile(input_.file);
    if (host.empty() && !space_.hostnames.empty()) host = std::string(space_.hostnames.front());
    return host;
  }

  void ReadPlane(const Plane& plane) {
    source_.planes.emplace_back(plane.name);
    if (plane.name == kHostPlane || plane.name.starts_with("/host:CPU [")) {
      ReadHostPlane(plane);
    } else if (plane.name.starts_with("/device:")) {
      ReadDevicePlane(plane);
    } else if (plane.name == "/host:metadata") {
      ReadPrograms(plane);
    }
  }

  // Each compiled program hangs on an event metadata entry named "NAME(ID)".
  void ReadPrograms(const Plane& plane) {
    Store& store = builder_.store();
    for (const EventMetadata& entry : plane.metadata) {
      for (const Stat& stat : entry.stats) {
        const std::string_view name = plane.stat_names.Name(stat.name_id);
        if (stat.kind != Stat::kBytes || (name != "Hlo Proto" && name != "HLO Proto")) continue;
        Result<Program> program = ReadHloProto(stat.text, store.strings);
        if (!program) {
          builder_.diagnostics().Note(
              Severity::kWarning, "unreadable_program",
              fmt::format("The plan of a compiled program cannot be read: {}", program.error().message),
              static_cast<uint64_t>(stat.text.data() - bytes_.view().data()));
          continue;
        }
        program->label = entry.name;
        program->source = builder_.current_source();
        store.programs.push_back(*std::move(program));
      }
    }
  }

  void ReadHostPlane(const Plane& plane) {
    const bool is_first = plane.name == kHostPlane && !source_.has_host_plane;
    source_.has_host_plane |= is_first;
    Store& store = builder_.store();
    std::vector<LineToDecode> lines;
    for (const std::string_view message : plane.lines) {
      const Line header = ReadLineHeader(message, bytes_);
      const bool fits =
          header.begin_ns > -kLongestLineStartNs && header.begin_ns - kLongestLineStartNs < clock_.line_base_ns;
      if (!fits) {
        builder_.diagnostics().Note(
            Severity::kDataLoss, "impossible_line_start",
            "A thread's line starts more than 40 days from the start of the profile; its events are left out.");
        continue;
      }
      const auto line = static_cast<uint32_t>(store.xplane.lines.size());
      const int64_t begin_ps = (header.begin_ns - clock_.line_base_ns) * 1000;
      store.xplane.lines.push_back({begin_ps, builder_.current_source(), is_first, store.strings.Intern(header.name)});
      lines.push_back({message, begin_ps, line});
      launches_.AddHostLine(plane, message, begin_ps, line);
    }
    decoder_.DecodePlane(plane, lines);
  }

  void ReadDevicePlane(const Plane& plane) {
    for (const Stat& stat : plane.stats) {
      if (plane.stat_names.Name(stat.name_id) == "memory_size") {
        source_.device_memory_bytes.emplace_back(plane.name, stat.bits);
      }
    }
    launches_.AddDevicePlane(plane, clock_.line_base_ns);
    AddPlaneSpans(plane, clock_.line_base_ns, clock_.unix_begin_ns, device_steps_, bytes_, builder_);
    for (const std::string_view line : plane.lines) bytes_.Release(line);
  }

  void NoteProblems() {
    DiagnosticLog& log = builder_.diagnostics();
    const DecodeCounts& counts = counts_;
    const auto note = [&](Severity severity, std::string_view code, std::string_view text, uint64_t offset,
                          uint64_t count) {
      if (count > 0) log.Note(severity, code, text, offset, count);
    };
    note(Severity::kDataLoss, "damaged_record", "Records of the file are damaged and left out.",
         space_.first_damage_offset, space_.damage_count);
    note(Severity::kDataLoss, "damaged_event", "Events are damaged and left out.", counts.first_damage_offset,
         counts.damaged_events);
    note(Severity::kDataLoss, "impossible_value",
         "Memory events with a negative size or an impossible time are left out.", counts.first_damage_offset,
         counts.impossible_values);
    note(Severity::kWarning, "damaged_text", "A compressed text does not unpack and is taken as empty.",
         counts.first_damage_offset, counts.damaged_strings);
    note(Severity::kWarning, "clock_jump",
         "Memory events lie more than a second before the one that their thread wrote before them: the clock was set "
         "back, or events were written out of order. They are shown in the order of their times.",
         kUnknownBytes, CountBackwardJumps());
    note(Severity::kWarning, "no_heap_bytes",
         "Memory events do not say how large the heap was (bytes_allocated); it is taken as 0.", kUnknownBytes,
         counts.without_heap_bytes);
    note(Severity::kInfo, "steps_by_time",
         "The host events name no steps: memory events have the step that their device ran at their time.",
         kUnknownBytes, device_filled_count_);
    note(Severity::kWarning, "unconnected_threads",
         "So much work shares one id that it was not followed across threads; its step is not known.", kUnknownBytes,
         steps_.skipped_connections);
    if (bytes_.has_shrunk()) {
      log.Note(Severity::kDataLoss, "file_changed", "The file was cut or became unreadable while it was read.");
    }
    if (space_.truncated || counts.cut_off) {
      note(Severity::kDataLoss, "truncated",
           "The file ends in the middle of a record: it was cut off. What was read before is shown.",
           bytes_.view().size(), 1);
    }
    for (const std::string_view error : space_.errors) {
      log.Note(Severity::kWarning, "profiler_error",
               fmt::format("The profiler itself reported: {}", ReplaceInvalidUtf8(error)));
    }
    for (const std::string_view warning : space_.warnings) {
      log.Note(Severity::kInfo, "profiler_warning",
               fmt::format("The profiler itself warned: {}", ReplaceInvalidUtf8(warning)));
    }
  }

  uint64_t CountBackwardJumps() const {
    const XPlaneEventTable& details = events_.details;
    uint64_t count = 0;
    for (size_t row = 1; row < details.size(); ++row) {
      count +=
          details.line[row] == details.line[row - 1] && details.time_ps[row] < details.time_ps[row - 1] - kClockJumpPs;
    }
    return count;
  }

  // "host_tracer_level 1 and "; empty when the file does not say.
  std::string RecordedLevel() const {
    for (const Plane& plane : space_.planes) {
      for (const Stat& stat : plane.stats) {
        if (plane.stat_names.Name(stat.name_id) != "profile_options" || stat.kind != Stat::kBytes) continue;
        FieldWalk options(stat.text);  // a ProfileOptions message; field 2 is host_tracer_level
        uint64_t level = 0;
        while (options.Next()) {
          if (options.field() == 2 && options.type() == WireType::varint) level = options.number();
        }
        return fmt::format("host_tracer_level {} and ", level);
      }
    }
    return "";
  }

  void ExplainEmpty() {
    const uint64_t others = counts_.other_events;
    std::string why;
    if (!source_.has_host_plane) {
      why = "This trace has no memory events: it has no host plane (/host:CPU), where allocators report.";
    } else if (counts_.damaged_events + counts_.impossible_values > 0) {
      why = fmt::format("This trace has no usable memory events: {} events are damaged or impossible and left out.",
                        FormatCount(counts_.damaged_events + counts_.impossible_values));
    } else if (others == 0) {
      why = "This trace has no memory events: it was recorded with no host events at all, so the host tracer was off.";
    } else {
      why = fmt::format(
          "This trace has no memory events: it was recorded with {}{} other host events, but no allocator reported to "
          "it.",
          RecordedLevel(), FormatCount(others));
    }
    if (space_.truncated)
      why += " The file is cut off, and the names of its events, which come last, may be in the lost part.";
    builder_.AddMissing(
        "memory events", std::move(why),
        "Record with host_tracer_level >= 2 on a backend whose allocator reports (GPU: the default BFC allocator, not "
        "cuda_malloc_async or the platform allocator; TPU: a recent runtime; the CPU backend of JAX does not report).");
  }

  Input& input_;
  StoreBuilder& builder_;
  ScratchBytes& bytes_;
  const Space& space_;
  Clock clock_;
  LaunchFinder launches_;
  DeviceSteps device_steps_;
  StepGroups steps_;
  DecodedEvents events_;
  ParallelDecoder decoder_;
  DecodeCounts counts_;
  uint64_t device_filled_count_ = 0;
  XPlaneSource source_;
};

Status Read(Input& input, StoreBuilder& builder, const ReadContext& context) {
  MEMSTRATA_ASSIGN_OR_RETURN(ScratchBytes bytes, ScratchBytes::Open(input, context.limits.memory_bytes));
  MEMSTRATA_ASSIGN_OR_RETURN(const Space space, ReadSpace(bytes));
  return XPlaneReading(input, builder, bytes, space).Run();
}

}  // namespace

const ReaderInfo kXPlaneReader = {
    .id = "xplane",
    .title = "XPlane profile (XProf, JAX, TensorFlow, TPU)",
    .suffixes = kSuffixes,
    .probe = Probe,
    .read = Read,
};

std::string HostOfFile(std::string_view file) {
  const std::string_view name = BaseName(file);
  const size_t suffix = name.find(".xplane.pb");
  return suffix == std::string_view::npos ? std::string() : std::string(name.substr(0, suffix));
}

}  // namespace memstrata::xla
