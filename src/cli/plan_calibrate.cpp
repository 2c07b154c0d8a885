#include "cli/plan_calibrate.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <span>

#include "base/units.h"
#include "cli/common_flags.h"
#include "cli/output_file.h"
#include "cli/session.h"
#include "io/source/file_source.h"
#include "ledger/ledger.h"
#include "measure/peaks.h"
#include "readers/reader.h"
#include "report/json/plan_calibration_json.h"

namespace memstrata::cli {
namespace {

constexpr size_t kMostProfileBytes = size_t{1} << 20;

bool IsRequestFile(std::string_view path) {
  return path.ends_with(".toml") || path.ends_with(".yaml") || path.ends_with(".yml");
}

// Up to `size` further bytes; fewer at the end or where they cannot be read.
std::string NextBytes(FileSource& file, size_t size) {
  std::string bytes(size, '\0');
  size_t used = 0;
  while (used < size) {
    const Result<size_t> count = file.Read(std::as_writable_bytes(std::span(bytes)).subspan(used));
    if (!count || *count == 0) break;
    used += *count;
  }
  bytes.resize(used);
  return bytes;
}

// Of two files of one size.
bool HaveSameBytes(FileSource& a, FileSource& b) {
  constexpr size_t kStepBytes = size_t{1} << 20;
  while (true) {
    const std::string bytes = NextBytes(a, kStepBytes);
    if (bytes != NextBytes(b, kStepBytes)) return false;
    if (bytes.size() < kStepBytes) return true;
  }
}

// Whether two paths lead to one recording: the same file, or the same bytes under another name.
bool IsSameRecording(const std::string& a, const std::string& b) {
  std::error_code problem;
  if (std::filesystem::equivalent(a, b, problem)) return true;
  if (!std::filesystem::is_regular_file(a, problem) || !std::filesystem::is_regular_file(b, problem)) return false;
  if (std::filesystem::file_size(a, problem) != std::filesystem::file_size(b, problem) || problem) return false;
  const Result<std::unique_ptr<FileSource>> first = FileSource::Open(a);
  const Result<std::unique_ptr<FileSource>> second = FileSource::Open(b);
  return first && second && HaveSameBytes(**first, **second);
}

// Why a recording is not of the planned model: its parameters take something else. Empty: they agree, or it does not
// tell them.
std::string OtherModel(const plan::Plan& plan, const MeasuredPeak& peak) {
  constexpr double kAlike = 0.1;  // a table or a head more or less
  const auto found = peak.bytes_by_category.find("parameter");
  const auto planned = static_cast<double>(plan.WorstDevice().states.parameters);
  if (found == peak.bytes_by_category.end() || planned == 0) return "";
  const auto measured = static_cast<double>(found->second);
  if (std::abs(measured - planned) <= kAlike * planned) return "";
  return fmt::format("Its parameters take {}, those of the planned model {}: it is of another model.",
                     FormatBytes(found->second), FormatBytes(static_cast<uint64_t>(planned)));
}

std::optional<uint64_t> LineBytes(const std::vector<plan::Line>& lines, std::string_view term) {
  for (const plan::Line& line : lines) {
    if (line.term == term) return line.bytes;
  }
  return std::nullopt;
}

uint64_t Less(uint64_t bytes, uint64_t others) { return bytes - std::min(bytes, others); }

// Of the recorded process that takes most beside its framework, where the device holds most.
std::optional<uint64_t> MeasuredContext(const measure::MeasuredSession& session, SessionIndex& recording,
                                        const plan::DevicePlan& planned) {
  const Result<ledger::Ledger> ledger = ledger::MakeLedger(session, &recording, "peak");
  if (!ledger) return std::nullopt;
  std::optional<uint64_t> most;
  for (const ledger::DeviceLedger& device : ledger->devices) {
    for (const ledger::Line& line : device.balance.lines) {
      if (line.term != ledger::Term::kProcessOutside || line.bytes.value_or(0) <= 0) continue;
      most = std::max(most.value_or(0), static_cast<uint64_t>(*line.bytes));
    }
  }
  if (!most) return std::nullopt;
  return Less(*most, LineBytes(planned.lines, "communicators").value_or(0));
}

// The host's peak without what the plan names beside its processes. What it loads is among that where there is room
// for it: a checkpoint that is mapped takes none.
std::optional<uint64_t> MeasuredHostProcess(const measure::MeasuredSession& session, const plan::Plan& plan) {
  const std::optional<measure::MeasuredPeak> peak = measure::FindPeaks(session).host;
  if (!peak || session.processes.empty()) return std::nullopt;
  uint64_t staying = 0;
  uint64_t passing = 0;
  uint64_t least = 0;
  for (const plan::Line& line : plan.host_lines) {
    if (line.term == "processes") {
      least = line.low_bytes;
    } else {
      (line.is_persistent ? staying : passing) += line.bytes;
    }
  }
  const bool loads = peak->bytes >= least + staying + passing;
  return Less(peak->bytes, staying + (loads ? passing : 0)) / session.processes.size();
}

// What a folder of `memstrata run` tells beyond its recording.
Status AddMeasuredRun(const std::string& folder, const Arguments& arguments, const plan::Plan& plan,
                      plan::CalibrationSample& sample) {
  if (!measure::IsMeasuredSession(folder)) return {};
  MEMSTRATA_ASSIGN_OR_RETURN(const measure::MeasuredSession session, measure::ReadSession(folder));
  MEMSTRATA_ASSIGN_OR_RETURN(const std::shared_ptr<SessionIndex> recording, LoadSession({folder}, arguments, {}));
  sample.workload_context_bytes = MeasuredContext(session, *recording, plan.WorstDevice());
  sample.host_process_bytes = MeasuredHostProcess(session, plan);
  return {};
}

// Adds a session to the samples, or to what was left out.
Status AddSession(const Arguments& arguments, const std::string& session, Console& console, PlanCalibration& result) {
  MEMSTRATA_ASSIGN_OR_RETURN(const plan::RequestTexts texts,
                             PlanTextsOf(arguments, IsRequestFile(session) ? session : ""));
  const std::string recording = IsRequestFile(session) ? texts.recording : session;
  if (recording.empty())
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} does not name its recording.", session));
  for (const plan::CalibrationSample& sample : result.samples) {
    if (!IsSameRecording(sample.recording, recording)) continue;
    result.skipped.emplace_back(recording, fmt::format("It is the same recording as {}.", sample.recording));
    return {};
  }
  MEMSTRATA_ASSIGN_OR_RETURN(plan::PlanRequest request, plan::MakeRequest(texts, plan::FileUse::kRead));
  if (!texts.cards.empty()) {
    MEMSTRATA_ASSIGN_OR_RETURN(request.card, plan::FindCard(texts.cards.front()));
  }
  request.searches_largest = request.suggests_changes = false;
  MEMSTRATA_ASSIGN_OR_RETURN(const MeasuredPeak peak, MeasureRecording(recording, console));
  FillFromRecording(peak, request);
  MEMSTRATA_ASSIGN_OR_RETURN(const plan::Plan plan, plan::MakePlan(request));
  const std::string engine(Name(request.workload.engine));
  const bool is_first = result.profile.engine.empty();
  if (!is_first && result.profile.engine != engine)
    return Fail(ErrorCode::kInvalidArgument, "The sessions are of different engines; fit a profile for each.");
  const std::string device = request.card ? request.card->id : "";
  if (!is_first && result.profile.device != device)
    return Fail(ErrorCode::kInvalidArgument, "The sessions are of different devices; fit a profile for each.");
  result.profile.engine = engine;
  result.profile.device = device;
  if (!peak.allocated_bytes || peak.has_gaps) {
    result.skipped.emplace_back(
        recording, peak.has_gaps ? peak.lower_bound_reason : "The recording does not tell what was allocated.");
    return {};
  }
  if (std::string other = OtherModel(plan, peak); !other.empty()) {
    result.skipped.emplace_back(recording, std::move(other));
    return {};
  }
  const plan::DevicePlan& worst = plan.WorstDevice();
  plan::CalibrationSample sample{.recording = recording,
                                 .planned_peak_bytes = worst.framework_peak_bytes,
                                 .measured_peak_bytes = *peak.allocated_bytes,
                                 .reserved_peak_bytes = peak.reserved_bytes,
                                 .working_bytes = plan::WorkingBytes(worst),
                                 .peak_constant = std::string(worst.peak_spread)};
  MEMSTRATA_TRY(AddMeasuredRun(recording, arguments, plan, sample));
  result.samples.push_back(std::move(sample));
  return {};
}

}  // namespace

Result<plan::RequestTexts> PlanTextsOf(const Arguments& arguments, const std::string& file) {
  plan::RequestTexts texts;
  if (!file.empty()) {
    MEMSTRATA_ASSIGN_OR_RETURN(texts, plan::ReadRequestFile(file));
  }
  for (const plan::InputHelp& input : plan::kWorkloadInputs) {
    for (const std::string& value : arguments.All(input.flag)) {
      texts.inputs.emplace_back(input.flag.substr(2), value);
    }
  }
  texts.model = arguments.Get("--model").value_or(texts.model);
  texts.parameters = arguments.Get("--parameters").value_or(texts.parameters);
  texts.draft = arguments.Get("--draft").value_or(texts.draft);
  if (arguments.Has("--card")) texts.cards = arguments.All("--card");
  return texts;
}

Result<MeasuredPeak> MeasureRecording(const std::string& recording, Console& console) {
  OpenOptions options;
  options.context.limits = DefaultReadLimits();
  options.context.progress = [&console](const ReadProgress& progress) { console.Progress(ProgressText(progress)); };
  const Result<Store> store = OpenSession(std::vector<std::string>{recording}, options);
  console.ClearProgress();
  if (!store) return tl::unexpected(store.error());
  KeptAnalyses analyses(*store);
  return MeasurePeak(analyses);
}

Result<std::optional<plan::Profile>> PlanProfileOf(const Arguments& arguments) {
  const std::optional<std::string> path = arguments.Get("--profile");
  if (!path) return std::nullopt;
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string text, plan::ReadSmallFile(*path, kMostProfileBytes));
  Result<plan::Profile> profile = plan::ParseProfile(text, *path);
  if (profile) return *std::move(profile);
  Error error = profile.error();
  error.file = *path;
  return tl::unexpected(std::move(error));
}

Result<int> CalibratePlan(const Arguments& arguments, Console& console) {
  if (arguments.positionals.size() < 2)
    return Fail(ErrorCode::kInvalidArgument, "Say what to calibrate by: plan calibrate SESSION…");
  PlanCalibration result;
  for (size_t i = 1; i < arguments.positionals.size(); ++i)
    MEMSTRATA_TRY(AddSession(arguments, arguments.positionals[i], console, result));
  if (result.samples.empty())
    return Fail(ErrorCode::kNotFound, fmt::format("No session can be used: {}", result.skipped.front().second));
  plan::Profile fitted = plan::FitProfile(result.samples);
  fitted.engine = result.profile.engine;
  fitted.device = result.profile.device;
  fitted.engine_version = arguments.Get("--engine-version").value_or("");
  result.profile = std::move(fitted);
  const std::string toml = plan::ProfileToml(result.profile);
  const std::optional<std::string> path = arguments.Get("--output");
  if (path) MEMSTRATA_TRY(WriteWhole(*path, toml));
  std::string text = toml;
  if (arguments.Has("--json")) {
    text = PlanCalibrationJson(result);
  } else if (path) {
    text = PlanCalibrationText(result);
  }
  MEMSTRATA_TRY(console.out().Write(text));
  return kExitOk;
}

}  // namespace memstrata::cli
