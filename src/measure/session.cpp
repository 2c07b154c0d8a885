#include "measure/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/tab_lines.h"
#include "measure/run_log.h"

namespace memstrata::measure {
namespace {

namespace fs = std::filesystem;
using Fields = std::vector<std::string>;

constexpr uint64_t kLargestFileBytes = uint64_t{1} << 30;
constexpr double kMilli = 1000;
constexpr int64_t kLatestNs = int64_t{1} << 61;

// Takes the fields of a line one after the other; `ok` turns false at the first that is not what it should be.
class FieldReader {
 public:
  explicit FieldReader(const Fields& fields) : fields_(fields) {}

  bool ok() const { return ok_; }
  bool at_end() const { return next_ == fields_.size(); }
  std::string Text() { return next_ < fields_.size() ? fields_[next_++] : Fail(); }
  uint64_t Unsigned() { return Need(ParseUnsigned(Text())); }
  uint32_t Small() {
    const uint64_t value = Unsigned();
    if (value > UINT32_MAX) ok_ = false;
    return static_cast<uint32_t>(value);
  }
  int32_t Number() {
    const uint64_t value = Unsigned();
    if (value > INT32_MAX) ok_ = false;
    return static_cast<int32_t>(value);
  }
  int64_t Signed() {
    const std::string text = Text();
    int64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    // Beyond these no clock comes, and differences stay in the range of the type.
    if (problem != std::errc{} || end != text.data() + text.size() || value > kLatestNs || value < -kLatestNs) {
      ok_ = false;
      return 0;
    }
    return value;
  }
  std::optional<uint64_t> Optional() {
    const std::string text = Text();
    if (text == "-") return std::nullopt;
    return Need(ParseUnsigned(text));
  }

 private:
  uint64_t Need(std::optional<uint64_t> value) {
    if (!value) ok_ = false;
    return value.value_or(0);
  }
  std::string Fail() {
    ok_ = false;
    return {};
  }

  const Fields& fields_;
  size_t next_ = 1;
  bool ok_ = true;
};

struct RunLineKind {
  std::string_view name;
  bool (*add)(FieldReader& fields, MeasuredSession& session);
};

// Lines of one number, of a process or of a signal, each to the end of its list.
template <auto list, class Into>
bool AddNumber(FieldReader& fields, Into& into) {
  const int32_t number = fields.Number();
  if (fields.ok()) (into.*list).push_back(number);
  return fields.ok();
}

template <class Into>
bool AddGap(FieldReader& fields, Into& into) {
  Gap gap = {fields.Text(), fields.Text(), fields.Text()};
  if (fields.ok()) into.gaps.push_back(std::move(gap));
  return fields.ok();
}

bool AddUse(FieldReader& fields, MeasuredSession& session) {
  DeviceSample sample = {fields.Signed(), fields.Small(), fields.Unsigned(), fields.Unsigned(), {}};
  if (fields.Unsigned() == 1) {
    sample.processes.emplace();
    while (fields.ok() && !fields.at_end()) {
      const int32_t process_id = fields.Number();
      sample.processes->push_back({process_id, fields.Optional()});
    }
  }
  if (!fields.ok() || sample.device >= session.devices.size()) return false;
  session.device_samples.push_back(std::move(sample));
  return true;
}

bool AddHost(FieldReader& fields, MeasuredSession& session) {
  HostSample sample = {fields.Signed(),   fields.Small(),    fields.Unsigned(), fields.Unsigned(), fields.Unsigned(),
                       fields.Unsigned(), fields.Unsigned(), fields.Optional(), fields.Optional(), fields.Optional(),
                       fields.Optional(), fields.Optional(), fields.Optional()};
  if (!fields.at_end()) {  // not in older logs
    sample.machine_shared_bytes = fields.Optional();
    sample.mapped_shared_bytes = fields.Unsigned();
  }
  if (fields.ok()) session.host_samples.push_back(sample);
  return fields.ok();
}

bool AddDevice(FieldReader& fields, MeasuredSession& session) {
  DeviceFacts facts = {fields.Text(),     fields.Text(),          fields.Text(),
                       fields.Text(),     fields.Text(),          fields.Optional(),
                       fields.Optional(), fields.Unsigned() == 1, fields.Unsigned() == 1};
  facts.is_host_node = !fields.at_end() && fields.Unsigned() == 1;  // not in older logs
  if (fields.ok()) session.devices.push_back(std::move(facts));
  return fields.ok();
}

bool AddCommand(FieldReader& fields, bool is_beside, MeasuredSession& session) {
  CommandRun command;
  while (!fields.at_end()) command.command.push_back(fields.Text());
  command.is_beside = is_beside;
  session.commands.push_back(std::move(command));
  return true;
}

bool AddCommandEnd(FieldReader& fields, MeasuredSession& session) {
  const uint32_t index = fields.Small();
  if (!fields.ok() || index >= session.commands.size()) return false;
  CommandRun& command = session.commands[index];
  command.exit_status = static_cast<int32_t>(fields.Signed());
  command.timed_out = fields.Unsigned() == 1;
  command.wall_ns = fields.Signed();
  command.highest_resident_bytes = fields.Optional();
  command.had_children = fields.Unsigned() != 0;
  command.was_stopped = fields.Unsigned() != 0;
  command.cpu_ns = fields.Optional();
  command.read_bytes = fields.Optional();
  command.written_bytes = fields.Optional();
  command.ended = fields.ok();
  return fields.ok();
}

constexpr RunLineKind kRunLines[] = {
    {"memstrata_run", [](FieldReader& fields, MeasuredSession&) { return fields.Unsigned() == kRunLogVersion; }},
    {"rate",
     [](FieldReader& fields, MeasuredSession& session) {
       session.sample_rate_hz = static_cast<double>(fields.Unsigned()) / kMilli;
       return fields.ok();
     }},
    {"machine",
     [](FieldReader& fields, MeasuredSession& session) {
       session.machine_bytes = fields.Optional();
       session.group_limit_bytes = fields.Optional();
       return fields.ok();
     }},
    {"device", AddDevice},
    {"command", [](FieldReader& fields, MeasuredSession& session) { return AddCommand(fields, false, session); }},
    {"beside", [](FieldReader& fields, MeasuredSession& session) { return AddCommand(fields, true, session); }},
    {"used", AddUse},
    {"host", AddHost},
    {"member", AddNumber<&MeasuredSession::tree>},
    {"mark_reset", AddNumber<&MeasuredSession::mark_resets>},
    {"missing", AddGap},
    {"variable",
     [](FieldReader& fields, MeasuredSession& session) {
       const std::string name = fields.Text();
       const std::string value = fields.Text();
       if (fields.ok()) session.variables[name] = value;
       return fields.ok();
     }},
    {"signal", AddNumber<&MeasuredSession::signals>},
    {"command_end", AddCommandEnd},
    {"end",
     [](FieldReader& fields, MeasuredSession& session) {
       session.missed_samples = fields.Unsigned();
       session.clock_drift_ns = fields.Signed();
       session.sampler_cpu_ns = fields.Unsigned();
       session.ended = fields.ok();
       return fields.ok();
     }},
};

struct ProcessLineKind {
  std::string_view name;
  bool (*add)(FieldReader& fields, FrameworkProcess& process);
};

constexpr ProcessLineKind kProcessLines[] = {
    {"process",
     [](FieldReader& fields, FrameworkProcess& process) {
       process.process_id = fields.Number();
       process.rank = fields.Small();
       return fields.ok();
     }},
    {"framework",
     [](FieldReader& fields, FrameworkProcess& process) {
       process.framework = fields.Text();
       return fields.ok();
     }},
    {"device",
     [](FieldReader& fields, FrameworkProcess& process) {
       FrameworkDevice device = {fields.Small(), fields.Text(), fields.Text(), fields.Unsigned()};
       if (fields.ok()) process.devices.push_back(std::move(device));
       return fields.ok();
     }},
    {"allocator",
     [](FieldReader& fields, FrameworkProcess& process) {
       const AllocatorSample sample = {fields.Signed(),   fields.Small(),    fields.Unsigned(), fields.Unsigned(),
                                       fields.Unsigned(), fields.Unsigned(), fields.Unsigned(), fields.Unsigned()};
       if (fields.ok()) process.samples.push_back(sample);
       return fields.ok();
     }},
    {"forked", AddNumber<&FrameworkProcess::forked_ids>},
    {"missing", AddGap},
    {"end",
     [](FieldReader&, FrameworkProcess& process) {
       process.complete = true;
       return true;
     }},
};

// Calls `add` with each whole line; what follows the last newline was not written to its end and is left out.
template <class Kinds, class Into>
uint64_t AddLines(std::string_view text, const Kinds& kinds, Into& into) {
  uint64_t bad_count = 0;
  while (!text.empty()) {
    const size_t length = text.find('\n');
    if (length == std::string_view::npos) return bad_count + 1;
    const Fields fields = SplitTabLine(text.substr(0, length));
    text.remove_prefix(length + 1);
    const auto kind =
        std::find_if(std::begin(kinds), std::end(kinds), [&](const auto& known) { return known.name == fields[0]; });
    FieldReader reader(fields);
    if (kind == std::end(kinds) || !kind->add(reader, into)) ++bad_count;
  }
  return bad_count;
}

Result<std::string> ReadText(const fs::path& path) {
  std::error_code problem;
  const uint64_t size_bytes = fs::file_size(path, problem);
  if (problem) return tl::unexpected(Error{ErrorCode::kIo, "It cannot be read.", path.string(), {}});
  if (size_bytes > kLargestFileBytes)
    return tl::unexpected(Error{ErrorCode::kLimitExceeded, "It is larger than 1 GiB.", path.string(), {}});
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (file.bad()) return tl::unexpected(Error{ErrorCode::kIo, "It cannot be read.", path.string(), {}});
  return text;
}

Status AddProcesses(const fs::path& folder, MeasuredSession& session) {
  std::vector<fs::path> files;
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem); !problem && at != fs::directory_iterator(); at.increment(problem)) {
    if (at->path().extension() == ".tsv") files.push_back(at->path());
  }
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {  // rank9 before rank10
    const std::string first = a.stem().string(), second = b.stem().string();
    return first.size() != second.size() ? first.size() < second.size() : first < second;
  });
  for (const fs::path& path : files) {
    MEMSTRATA_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
    FrameworkProcess process;
    process.label = path.stem().string();
    session.bad_line_count += AddProcessLines(text, process);
    session.processes.push_back(std::move(process));
  }
  return {};
}

}  // namespace

bool IsEndingSignal(int32_t signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

void AddRunLines(std::string_view text, MeasuredSession& session) {
  session.bad_line_count += AddLines(text, kRunLines, session);
}

uint64_t AddProcessLines(std::string_view text, FrameworkProcess& process) {
  return AddLines(text, kProcessLines, process);
}

bool IsMeasuredSession(const std::string& folder) {
  std::error_code ignored;
  return fs::is_regular_file(fs::path(folder) / kRunLogName, ignored);
}

Result<MeasuredSession> ReadSession(const std::string& folder) {
  if (!IsMeasuredSession(folder)) {
    return tl::unexpected(Error{ErrorCode::kNotFound,
                                "This is not the folder of a measured run; `memstrata run -- CMD` makes one.",
                                folder,
                                {}});
  }
  MeasuredSession session;
  session.folder = folder;
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string text, ReadText(fs::path(folder) / kRunLogName));
  AddRunLines(text, session);
  MEMSTRATA_TRY(AddProcesses(fs::path(folder) / "processes", session));
  return session;
}

}  // namespace memstrata::measure
