#include "dryrun/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/units.h"

namespace memstrata::dryrun {
namespace {

// Counted by dryrun/answers/cudnn.cpp.
constexpr std::string_view kCudnnMatrixProduct = "cudnnBackendOperationMatmul";
constexpr std::string_view kCudnnExecute = "cudnnBackendExecute";
constexpr std::string_view kUnknownWorkArea = "unknownWorkArea";  // by dryrun/answers/solver.cpp

struct AttentionName {
  std::string_view part;  // of a kernel's name
  std::string_view text;
};

constexpr AttentionName kAttentionNames[] = {
    {"flash_fwd", "flash attention"},
    {"fmha_cutlass", "memory-efficient attention"},
    {"fmha_kernel", "memory-efficient attention"},
    {"triton_flash_attention", "flex attention (Triton)"},
    {"flex_attention", "flex attention (Triton)"},
};

uint64_t CountOf(const std::vector<Count>& counts, std::string_view name) {
  for (const Count& count : counts) {
    if (count.name == name) return count.count;
  }
  return 0;
}

void NoteAssumptions(const DryRunAnswer& answer, const ProcessRecord& process, std::vector<Note>& notes) {
  const plan::Card& card = answer.request.card;
  notes.push_back({"info", "outside_assumed", 1,
                   fmt::format("Memory outside the framework is assumed to be {} ({}). NCCL's buffers and the memory "
                               "inside the vendor's libraries are not in it.",
                               FormatBytes(card.context_bytes), card.source)});
  if (const uint64_t count = CountOf(process.library_calls, kUnknownWorkArea); count > 0) {
    notes.push_back(
        {"warning", "work_area_unknown", count,
         "cuSOLVER, cuSPARSE or cuFFT were asked how large a work area they need. Only the real library knows; "
         "it is counted as 0, so the peak is a lower bound."});
  }
  const uint64_t cudnn_count = CountOf(process.library_calls, kCudnnExecute);
  if (cudnn_count > 0 && answer.request.convolution_workspace_bytes == 0) {
    notes.push_back(
        {"warning", "cudnn_workspace_unknown", cudnn_count,
         "cuDNN ran: convolutions, or attention on newer cards. Its workspaces depend on the algorithm that it "
         "picks on the card and are counted as 0, so the peak is a lower bound. --convolution-workspace sets a "
         "size."});
  }
  if (process.idle_optimizer_count > 0) {
    notes.push_back({"warning", "idle_optimizers", process.idle_optimizer_count,
                     "Optimizers had made no step when the run was ended: another one had made many times the steps "
                     "that --steps asks for. What they would take is not in the peak, which is a lower bound."});
  }
  if (process.shared_block_count > 0) {
    notes.push_back({"warning", "freed_without_waiting", process.shared_block_count,
                     "Blocks are used by more than one stream (record_stream, collectives). "
                     "Here no stream takes time, so they are free as soon as they are given up; a card keeps them "
                     "until the other stream is done, so the peak is a lower bound."});
  }
  if (!process.reads.empty()) {
    uint64_t count = 0;
    for (const ValueRead& read : process.reads) count += read.count;
    const bool has_failed = !process.error_type.empty() && answer.run.verdict() == Verdict::kScriptFailed;
    notes.push_back({"warning", "value_dependent_reads", count,
                     fmt::format("The program read values that no card computed: they were zero. Shapes and branches "
                                 "that depend on them are guesses{}.",
                                 has_failed ? ", and its error may come from one" : "")});
  }
}

std::string NamesOf(const std::vector<Count>& counts) {
  std::string names;
  for (const Count& count : counts) names += (names.empty() ? "" : ", ") + count.name;
  return names;
}

void NoteUnknowns(const DryRunAnswer& answer, const ProcessRecord& process, std::vector<Note>& notes) {
  if (!process.refused.empty()) {
    notes.push_back({"warning", "refused_calls", process.refused.size(),
                     fmt::format("The program asked for what the simulated card cannot do, and was told so: {}. "
                                 "Recurrent layers run with torch.backends.cudnn.enabled = False.",
                                 NamesOf(process.refused))});
  }
  if (!process.unanswered.empty()) {
    notes.push_back({"info", "unanswered_calls", process.unanswered.size(),
                     fmt::format("Functions without an answer of their own; each call was taken as a success: {}.",
                                 NamesOf(process.unanswered))});
  }
  for (const std::string& note : process.notes) notes.push_back({"info", "program", 1, note});
  if (process.torch_version.empty()) {
    notes.push_back({"warning", "hook_not_loaded", 1,
                     "The start-up hook was not loaded (python -S or -I?), or the program ended in a way that ran no "
                     "exit handler: only the card's own figures are known, and there is no snapshot."});
  }
  if (answer.wheel.cudnn_version.empty() || answer.wheel.nccl_version.empty()) {
    notes.push_back(
        {"warning", "library_versions_unknown", 1, "The package does not say for which cuDNN and NCCL it was built."});
  }
}

void AddCounts(const std::vector<Count>& more, std::vector<Count>& counts) {
  for (const Count& count : more) AddCount(counts, count.name, count.count);
}

void AddProcess(const ProcessRecord& process, ProcessRecord& whole) {
  AddCounts(process.kernels, whole.kernels);
  AddCounts(process.library_calls, whole.library_calls);
  AddCounts(process.unanswered, whole.unanswered);
  AddCounts(process.refused, whole.refused);
  whole.reads.insert(whole.reads.end(), process.reads.begin(), process.reads.end());
  for (const std::string& note : process.notes) {
    if (std::ranges::find(whole.notes, note) == whole.notes.end()) whole.notes.push_back(note);
  }
  if (process.step_count) whole.step_count = std::max(whole.step_count.value_or(0), *process.step_count);
  whole.idle_optimizer_count += process.idle_optimizer_count;
  whole.shared_block_count += process.shared_block_count;
  if (whole.error_type.empty()) {
    whole.error_type = process.error_type;
    whole.error_text = process.error_text;
    whole.error_frames = process.error_frames;
    whole.is_error_of_memory = process.is_error_of_memory;
  }
}

void NoteProcesses(const DryRunAnswer& answer, std::vector<Note>& notes) {
  const auto& processes = answer.run.processes;
  uint64_t collective_count = 0;
  for (const ProcessRecord& process : processes) {
    for (const Count& call : process.library_calls) collective_count += call.name.starts_with("nccl") ? call.count : 0;
  }
  if (processes.size() > 1 && collective_count > 0) {
    notes.push_back(
        {"warning", "collectives_moved_nothing", collective_count,
         "Several processes ran, and their collectives moved nothing: each took its own values for those of the "
         "others."});
  }
  for (size_t i = 0; i < processes.size(); ++i) {
    for (size_t j = i + 1; j < processes.size(); ++j) {
      if (processes[i].devices.empty() || processes[j].devices.empty() ||
          processes[i].devices[0].index != processes[j].devices[0].index)
        continue;
      notes.push_back({"warning", "device_shared", processes.size(),
                       "Several processes used one device. All of them together could take no more than it has; what "
                       "one is refused depends on which was faster."});
      return;
    }
  }
}

}  // namespace

std::vector<std::string> ShownCommand(const DryRunRequest& request) {
  if (request.keeps_arguments || request.command.empty()) return request.command;
  std::vector<std::string> shown = {request.command.front()};
  const std::string program = std::filesystem::path(shown.front()).filename().string();
  if (!program.starts_with("python")) return shown;
  for (size_t i = 1; i < request.command.size(); ++i) {
    const std::string& argument = request.command[i];
    if (argument == "-c") break;  // what follows is a program, and may hold anything
    if (argument == "-m" || argument == "-W" || argument == "-X") {
      if (argument == "-m" && i + 1 < request.command.size()) shown.insert(shown.end(), {"-m", request.command[i + 1]});
      if (argument == "-m") break;
      ++i;  // an option with a value
    } else if (!argument.starts_with("-")) {
      shown.push_back(argument);
      break;
    }
  }
  return shown;
}

ProcessRecord WholeProgram(const DryRun& run) {
  if (run.processes.empty()) return {};
  ProcessRecord whole = run.processes.front();
  for (size_t i = 1; i < run.processes.size(); ++i) AddProcess(run.processes[i], whole);
  return whole;
}

PeakBasis BasisOf(const DryRunRequest& request, const ProcessRecord& process) {
  if (process.idle_optimizer_count > 0) return PeakBasis::kUnfinished;
  const bool has_cudnn = CountOf(process.library_calls, kCudnnExecute) > 0;
  if (CountOf(process.library_calls, kUnknownWorkArea) > 0 || (has_cudnn && request.convolution_workspace_bytes == 0))
    return PeakBasis::kNoWorkAreas;
  if (process.shared_block_count > 0) return PeakBasis::kNoTime;
  return process.reads.empty() ? PeakBasis::kExact : PeakBasis::kDependsOnValues;
}

const OutOfMemory& TellingError(const ProcessRecord& process, const DeviceRecord& device) {
  return process.is_error_of_memory ? device.ooms.back() : device.ooms.front();
}

std::vector<Note> NotesOf(const DryRunAnswer& answer) {
  std::vector<Note> notes;
  if (answer.has_real_card) {
    notes.push_back({"info", "real_card_here", 1,
                     "This machine has a card. It was left alone; a run on it would measure the truth."});
  }
  if (answer.run.verdict() == Verdict::kRanAfterErrors) {
    notes.push_back(
        {"warning", "out_of_memory_handled", answer.run.OutOfMemoryCount(),
         "Requests failed, and the program went on and ended with status 0. The peak is of what it did run. A "
         "search (--find) takes a value only when no request fails."});
  }
  if (!answer.run.processes.empty()) {
    const ProcessRecord whole = WholeProgram(answer.run);
    NoteAssumptions(answer, whole, notes);
    NoteUnknowns(answer, whole, notes);
    NoteProcesses(answer, notes);
  }
  uint64_t failed_count = 0;
  if (answer.search) {
    for (const Trial& trial : answer.search->trials) failed_count += OtherFailure(trial.run).empty() ? 0 : 1;
  }
  if (failed_count > 0) {
    notes.push_back(
        {"warning", "search_failed", failed_count,
         "With some values the program failed for another reason than memory. They were taken as too large; "
         "whether they would fit is not known."});
  }
  if (answer.request.world_size > 1) {
    notes.push_back(
        {"info", "lone_rank", answer.request.world_size,
         fmt::format("One process ran as rank {} of {}: collectives moved nothing, and what other ranks would "
                     "have said was made up.",
                     answer.request.rank, answer.request.world_size)});
  }
  const auto rank = [](const Note& note) { return note.severity == "warning" ? 0 : 1; };
  std::stable_sort(notes.begin(), notes.end(), [&](const Note& a, const Note& b) { return rank(a) < rank(b); });
  return notes;
}

bool HasRealCard() {
  std::error_code ignored;
  return std::filesystem::exists("/proc/driver/nvidia/version", ignored);
}

uint64_t MarginBytes(const DryRunRequest& request, const DeviceRecord& device) {
  const uint64_t taken = request.card.context_bytes + device.card_peak_bytes;
  return request.card.visible_bytes - std::min(taken, request.card.visible_bytes);
}

std::vector<AttentionUse> AttentionUses(const ProcessRecord& process) {
  std::map<std::string_view, uint64_t> launches;
  for (const AttentionName& known : kAttentionNames) {
    for (const Count& kernel : process.kernels) {
      if (kernel.name.find(known.part) != std::string::npos) launches[known.text] += kernel.count;
    }
  }
  std::vector<AttentionUse> uses;
  for (const auto& [name, count] : launches) uses.push_back({std::string(name), count});
  if (CountOf(process.library_calls, kCudnnMatrixProduct) > 0) uses.push_back({"cuDNN attention", std::nullopt});
  return uses;
}

}  // namespace memstrata::dryrun
