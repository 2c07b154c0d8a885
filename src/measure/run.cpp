#include "measure/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "measure/children.h"
#include "measure/hook_folder.h"
#include "measure/process_tree.h"
#include "measure/replaced_folder.h"
#include "measure/sampler.h"
#include "measure/session_json.h"

namespace memstrata::measure {
namespace {

namespace fs = std::filesystem;

// They decide which devices a program sees and how its allocators use them. No secret is among them.
constexpr std::string_view kRecordedVariables[] = {
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "MALLOC_ARENA_MAX",
    "NCCL_BUFFSIZE",
    "NCCL_MAX_NCHANNELS",
    "NCCL_NVLS_ENABLE",
    "OMP_NUM_THREADS",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_HIP_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "ROCR_VISIBLE_DEVICES",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_GPU_ALLOCATOR",
    "XLA_FLAGS",
    "XLA_PYTHON_CLIENT_ALLOCATOR",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_PREALLOCATE",
    "ZE_AFFINITY_MASK",
};

Status Check(const RunRequest& request) {
  if (request.commands.empty()) return Fail(ErrorCode::kInvalidArgument, "There is no command to run.");
  for (const auto* commands : {&request.commands, &request.beside}) {
    for (const std::vector<std::string>& command : *commands) {
      if (command.empty()) return Fail(ErrorCode::kInvalidArgument, "A command is empty.");
    }
  }
  if (!std::isfinite(request.sample_rate_hz) || request.sample_rate_hz <= 0 || request.sample_rate_hz > kHighestRateHz)
    return Fail(ErrorCode::kInvalidArgument, "The rate is above 0 and at most 1,000 samples a second.");
  if (fs::path(request.folder).extension() != ".memstrata")
    return Fail(ErrorCode::kInvalidArgument, "The folder of a run is named NAME.memstrata.");
  return CheckReplaceable(request.folder);
}

void NoteMissingDevices(const FoundDevices& devices, RunLog& log) {
  size_t count = 0;
  std::string why;
  for (const auto& vendor : devices.vendors) count += vendor->facts().size();
  if (count > 0) return;
  for (const auto& [vendor, sentence] : devices.problems) why += (why.empty() ? "" : " ") + sentence;
  log.Missing({"device memory", why.empty() ? "The vendor's library names no device." : why,
               "`memstrata doctor` says what is here; only the host was sampled."});
}

void NoteLeftProcesses(const Children& children, bool are_ended, RunLog& log) {
  if (!children.has_left()) return;
  log.Missing({"the end of background processes",
               are_ended ? "Processes of the run still ran when its command ended; they were ended then."
                         : "Processes of the run still ran when its command ended.",
               "Let the program wait for them."});
}

Status StartAll(const RunRequest& request, const std::optional<HookFolder>& hook, Children& children, RunLog& log) {
  dryrun::Environment environment = dryrun::OwnEnvironment();
  for (const auto& [name, value] : request.variables) environment[name] = value;
  for (const std::string_view name : kRecordedVariables) {
    if (const auto found = environment.find(std::string(name)); found != environment.end())
      log.Variable(found->first, found->second);
  }
  if (hook) hook->SetVariables(request, environment);
  for (const bool is_beside : {true, false}) {
    for (const std::vector<std::string>& command : is_beside ? request.beside : request.commands) {
      log.Command(command, is_beside);
      if (Status status =
              children.Start(command, is_beside, environment, request.stdout_descriptor, request.stderr_descriptor);
          !status) {
        constexpr int64_t kShortGraceNs = 1'000'000'000;
        children.EndRest(kShortGraceNs);
        return status;
      }
    }
  }
  return {};
}

// What is on disk; where that cannot be read any more, at least how the programs ended.
MeasuredSession ReadBack(const RunRequest& request, const Children& children) {
  Result<MeasuredSession> read = ReadSession(request.folder);
  MeasuredSession session;
  if (read) {
    session = *std::move(read);
  } else {
    session.folder = request.folder;
    session.gaps.push_back({"the samples", "What was written cannot be read: " + read.error().message, ""});
  }
  session.commands = children.runs();  // also where the log could not be written to its end
  session.signals = children.signals();
  return session;
}

}  // namespace

Status CheckReplaceable(const std::string& folder) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored) || fs::is_empty(folder, ignored)) return {};
  for (const char* file : {"session.json", kRunLogName}) {
    if (fs::is_regular_file(fs::path(folder) / file, ignored)) return {};
  }
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("\"{}\" exists and is not a session; name another place with -o.", folder));
}

Result<MeasuredSession> MeasureRun(const RunRequest& request) {
  MEMSTRATA_TRY(Check(request));
  ReplacedFolder folder(request.folder);
  MEMSTRATA_TRY(folder.Make());
  std::error_code ignored;  // without it the frameworks' part is missing, which is said
  fs::create_directory(fs::path(request.folder) / "processes", ignored);
  std::optional<HookFolder> hook;
  if (request.mode != CaptureMode::kOff) {
    MEMSTRATA_ASSIGN_OR_RETURN(HookFolder made, HookFolder::Create());
    hook.emplace(std::move(made));
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const std::unique_ptr<RunLog> log,
                             RunLog::Create((fs::path(request.folder) / kRunLogName).string()));
  FoundDevices devices = FindDevices();
  log->Rate(request.sample_rate_hz);
  NoteMissingDevices(devices, *log);
  Children children;  // before the sampler's thread, which must not take the signals
  Sampler sampler(getpid(), request.sample_rate_hz, request.thinning_bytes, devices, *log);
  sampler.Start();
  MEMSTRATA_TRY(WriteSessionJson(request, {}, false));
  MEMSTRATA_TRY(StartAll(request, hook, children, *log));
  sampler.NoteStart();
  folder.Keep();
  children.WaitForAll(request.timeout_ns, kGraceNs);
  const bool ends_all = request.ends_all || !request.beside.empty();
  NoteLeftProcesses(children, ends_all, *log);
  if (ends_all) children.EndRest(kGraceNs);
  sampler.Stop();
  for (const int32_t signal : children.signals()) log->Signal(signal);
  for (uint32_t i = 0; i < children.runs().size(); ++i) log->CommandEnd(i, children.runs()[i]);
  log->End(sampler.missed_count(), sampler.clock().DriftNs(), sampler.cpu_ns());
  MeasuredSession session = ReadBack(request, children);
  (void)WriteSessionJson(request, session, true);  // a full disk: the log says the same
  return session;
}

}  // namespace memstrata::measure
