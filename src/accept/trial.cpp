#include "accept/trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "accept/compare_output.h"
#include "accept/entry_command.h"
#include "accept/session_figures.h"
#include "measure/run.h"
#include "plan/request_file.h"

namespace memstrata::accept {
namespace {

namespace fs = std::filesystem;

constexpr double kNsPerS = 1e9;
constexpr size_t kMostLogBytes = size_t{64} << 20;
constexpr size_t kMostLineBytes = 200;

// The file that the programs' output goes to.
class OutputLog {
 public:
  static Result<OutputLog> Create(const std::string& path) {
    const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0) return tl::unexpected(Error{ErrorCode::kIo, "It cannot be written.", path, {}});
    return OutputLog(path, descriptor);
  }
  OutputLog(OutputLog&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  OutputLog& operator=(OutputLog&&) = delete;
  ~OutputLog() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int descriptor() const { return descriptor_; }
  /// The last line that is not empty, at most 200 bytes of it.
  std::string LastLine() const {
    const Result<std::string> read = plan::ReadSmallFile(path_, kMostLogBytes);
    if (!read) return "";
    std::string_view text = *read;
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
    text = text.substr(text.find_last_of('\n') + 1);
    return std::string(text.substr(0, kMostLineBytes));
  }

 private:
  OutputLog(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
};

Command CommandOf(const Spec& spec, const std::string& function, const std::string& log) {
  return EntryCommand({.python = spec.workload.python,
                       .function = function,
                       .parameters = spec.parameters,
                       .warmup_count = spec.workload.warmup_count,
                       .iteration_count = spec.workload.iteration_count,
                       .log = log});
}

measure::CaptureMode ModeOf(const std::string& capture) {
  const auto* found = std::find(std::begin(measure::kCaptureModeNames), std::end(measure::kCaptureModeNames), capture);
  return static_cast<measure::CaptureMode>(found - std::begin(measure::kCaptureModeNames));
}

measure::RunRequest RequestOf(const Spec& spec, std::string folder, const OutputLog& log) {
  measure::RunRequest request;
  request.folder = std::move(folder);
  request.sample_rate_hz = spec.workload.sample_rate_hz;
  request.timeout_ns = static_cast<int64_t>(spec.workload.timeout_s * kNsPerS);
  request.mode = ModeOf(spec.workload.capture);
  request.ends_all = true;  // the next repeat begins on a machine without this one
  request.stdout_descriptor = log.descriptor();
  request.stderr_descriptor = log.descriptor();
  for (const auto& [name, value] : spec.environment) request.variables[name] = Fill(value, spec.parameters);
  return request;
}

std::optional<uint64_t> KnownBytes(std::string_view text) {
  uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// A line that was cut off by the end of the process is left out.
std::vector<Iteration> ReadIterations(const std::string& path) {
  std::vector<Iteration> iterations;
  const Result<std::string> text = plan::ReadSmallFile(path, kMostLogBytes);
  if (!text) return iterations;
  std::string_view rest = *text;
  for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    std::vector<std::string_view> fields;
    for (size_t tab = line.find('\t'); tab != std::string_view::npos; tab = line.find('\t')) {
      fields.push_back(line.substr(0, tab));
      line.remove_prefix(tab + 1);
    }
    fields.push_back(line);
    const std::optional<uint64_t> duration_ns = fields.size() == 4 ? KnownBytes(fields[1]) : std::nullopt;
    if (!duration_ns) continue;
    iterations.push_back(
        {fields[0] == "warmup", static_cast<int64_t>(*duration_ns), KnownBytes(fields[2]), KnownBytes(fields[3])});
  }
  return iterations;
}

void TakeWorst(const Measured& candidate, Measured& worst, bool is_first) {
  if (is_first || (worst.value && (!candidate.value || *candidate.value > *worst.value))) worst = candidate;
}

// Of an entry: what its calls took, the worst copy counts. Of a command: its run is the iteration.
void AddIterations(const Spec& spec, const std::vector<std::string>& logs, RepeatFigures& figures) {
  if (spec.workload.entry.empty()) {
    figures.iteration_time_s = figures.run_time_s;
    figures.growth_bytes.basis = figures.host_growth_bytes.basis = "Growth is known of an entry only.";
    return;
  }
  for (size_t copy = 0; copy < logs.size(); ++copy) {
    const std::vector<Iteration> iterations = ReadIterations(logs[copy]);
    TakeWorst(MedianTimeOf(iterations), figures.iteration_time_s, copy == 0);
    TakeWorst(GrowthOf(iterations), figures.growth_bytes, copy == 0);
    TakeWorst(HostGrowthOf(iterations), figures.host_growth_bytes, copy == 0);
    figures.iterations.insert(figures.iterations.end(), iterations.begin(), iterations.end());
    const uint64_t asked_count = spec.workload.warmup_count + spec.workload.iteration_count;
    if (iterations.size() < asked_count && figures.error_count == 0 && !figures.was_interrupted) {
      ++figures.error_count;
      figures.error_text = fmt::format("It ended after {} of {} calls.", iterations.size(), asked_count);
    }
  }
}

Status AddPrintedQuality(const Spec& spec, const std::string& folder, const std::string& name, RepeatFigures& figures) {
  MEMSTRATA_ASSIGN_OR_RETURN(const OutputLog output, OutputLog::Create(folder + "/" + name + ".quality.txt"));
  MEMSTRATA_ASSIGN_OR_RETURN(const OutputLog errors, OutputLog::Create(folder + "/" + name + ".quality.log"));
  measure::RunRequest request = RequestOf(spec, folder + "/" + name + ".quality.memstrata", output);
  request.stderr_descriptor = errors.descriptor();
  request.mode = measure::CaptureMode::kOff;
  request.commands = {spec.quality.command.empty() ? CommandOf(spec, spec.quality.function, "")
                                                   : Fill(spec.quality.command, spec.parameters)};
  MEMSTRATA_ASSIGN_OR_RETURN(const measure::MeasuredSession session, MeasureRun(request));
  const RepeatFigures run = FiguresOfSession(session);
  const std::string line = output.LastLine();
  double value = 0;
  const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), value);
  figures.was_interrupted |= run.was_interrupted;
  if (run.error_count > 0 || run.was_interrupted) {
    figures.quality.basis = fmt::format("What measures it failed. {} {}", run.error_text, errors.LastLine());
  } else if (problem != std::errc{} || end != line.data() + line.size()) {
    figures.quality.basis = fmt::format("Its last line is \"{}\" and not a number.", line);
  } else {
    figures.quality.value = value;
    const QualitySpec& quality = spec.quality;
    figures.quality_text = fmt::format("The quality is {:g};{}{} asked for.", value,
                                       quality.minimum ? fmt::format(" at least {:g}", *quality.minimum) : "",
                                       quality.maximum ? fmt::format(" at most {:g}", *quality.maximum) : "");
  }
  return {};
}

// A file of an earlier run proves nothing of this one.
void AddComparedQuality(const Spec& spec, fs::file_time_type begin, RepeatFigures& figures) {
  const std::string output = Fill(spec.quality.output, spec.parameters);
  std::error_code problem;
  const fs::file_time_type written = fs::last_write_time(output, problem);
  if (problem || written < begin) {
    figures.quality.basis = fmt::format("The run did not write {}.", output);
    return;
  }
  const std::string reference = Fill(spec.quality.reference, spec.parameters);
  if (fs::equivalent(output, reference, problem)) {
    figures.quality.basis = fmt::format("{} and {} are one file: it would be compared with itself.", output, reference);
    return;
  }
  const Result<OutputComparison> comparison = CompareOutput(output, reference, spec.quality.tolerance);
  if (!comparison) {
    figures.quality.basis = fmt::format("{}: {}", comparison.error().file, comparison.error().message);
    return;
  }
  figures.quality.value = comparison->is_equal ? 1 : 0;
  figures.quality_text = comparison->text;
}

// A command's warm-up: whole runs of everything. What goes wrong in one goes wrong with the workload. Answers whether
// the measured run is to follow.
Result<bool> WarmUp(const Spec& spec, measure::RunRequest request, const std::string& folder, RepeatFigures& figures) {
  request.folder = folder + "/warmup.memstrata";
  request.mode = measure::CaptureMode::kOff;
  for (uint64_t i = 0; i < spec.workload.warmup_count; ++i) {
    MEMSTRATA_ASSIGN_OR_RETURN(const measure::MeasuredSession session, MeasureRun(request));
    RepeatFigures run = FiguresOfSession(session);
    if (run.was_interrupted || run.error_count > 0) {
      figures = std::move(run);
      if (figures.error_count > 0) figures.error_text = "In the warm-up: " + figures.error_text;
      return false;
    }
  }
  return true;
}

// The measured run and what it is asked for besides.
Result<RepeatFigures> MeasureRepeat(const Spec& spec, const measure::RunRequest& request,
                                    const std::vector<std::string>& iteration_logs) {
  MEMSTRATA_ASSIGN_OR_RETURN(const measure::MeasuredSession session, MeasureRun(request));
  RepeatFigures figures = FiguresOfSession(session);
  AddIterations(spec, iteration_logs, figures);
  return figures;
}

}  // namespace

Result<RepeatFigures> RunRepeat(const Spec& spec, const std::string& folder, const std::string& name) {
  MEMSTRATA_ASSIGN_OR_RETURN(const OutputLog log, OutputLog::Create(folder + "/" + name + ".log"));
  measure::RunRequest request = RequestOf(spec, folder + "/" + name + ".memstrata", log);
  std::vector<std::string> iteration_logs;
  for (uint64_t copy = 0; copy < spec.workload.copies; ++copy) {
    iteration_logs.push_back(fmt::format("{}/{}.iterations{}.tsv", folder, name, copy));
    if (spec.workload.entry.empty()) {
      request.commands.push_back(Fill(spec.workload.command, spec.parameters));
    } else {
      MEMSTRATA_TRY(OutputLog::Create(iteration_logs.back()));  // empty, and private
      request.commands.push_back(CommandOf(spec, spec.workload.entry, iteration_logs.back()));
    }
  }
  for (const Command& command : spec.workload.beside) request.beside.push_back(Fill(command, spec.parameters));
  RepeatFigures figures;
  bool is_warm = true;
  if (spec.workload.entry.empty()) {
    MEMSTRATA_ASSIGN_OR_RETURN(is_warm, WarmUp(spec, request, folder, figures));
  }
  const fs::file_time_type begin = fs::file_time_type::clock::now();
  if (is_warm) {
    MEMSTRATA_ASSIGN_OR_RETURN(figures, MeasureRepeat(spec, request, iteration_logs));
  }
  if (figures.error_count > 0) {
    const std::string line = log.LastLine();
    if (!line.empty()) figures.error_text += fmt::format(" Its last line: {}", line);
  }
  if (figures.error_count > 0 || figures.was_interrupted) {
    figures.quality.basis = "The run did not end well.";
  } else if (!spec.quality.output.empty()) {
    AddComparedQuality(spec, begin, figures);
  } else if (spec.quality.IsAsked()) {
    MEMSTRATA_TRY(AddPrintedQuality(spec, folder, name, figures));
  }
  return figures;
}

}  // namespace memstrata::accept
