#include <algorithm>
#include <filesystem>

#include "cli/common_flags.h"
#include "cli/verbs.h"
#include "query/oom.h"
#include "report/json/oom_json.h"
#include "report/text/oom_text.h"

namespace memstrata::cli {
namespace {

constexpr uint64_t kMostTextBytes = uint64_t{1} << 30;

// A text on the command line itself: no file has that name, and no path has its blanks.
bool IsText(const std::string& argument) {
  std::error_code problem;
  const bool has_blanks = std::count(argument.begin(), argument.end(), ' ') > 2;
  return argument != "-" && (has_blanks || argument.find('\n') != std::string::npos) &&
         !std::filesystem::exists(argument, problem);
}

Status Write(const OomAnswer& answer, const Arguments& arguments, Console& console, int& exit_status) {
  exit_status = answer.HasFailure() ? kExitOk : kExitAnswerNo;
  if (arguments.Has("--json")) return WriteOomJson(answer, console.out());
  return WriteOomText(answer, {console.use_color(), console.width()}, console.out());
}

Result<std::string> ReadText(const std::string& file) {
  MEMSTRATA_ASSIGN_OR_RETURN(const Input input, OpenInput(file));
  Result<std::string> text = ReadAll(*input.bytes, kMostTextBytes);
  if (!text && text.error().code == ErrorCode::kLimitExceeded) {
    return Fail(ErrorCode::kLimitExceeded,
                "The text is longer than 1 GiB; give its end: tail -c 100M LOG | memstrata oom -");
  }
  return text;
}

// What is no capture that a reader knows is read as a text: logs may begin with anything, a brace for example.
bool MayBeText(const Error& error) {
  return error.code == ErrorCode::kUnsupportedFormat || error.code == ErrorCode::kCorruptInput ||
         error.code == ErrorCode::kTruncatedInput;
}

Status Explain(const Arguments& arguments, Console& console, int& exit_status) {
  const std::string& source = arguments.positionals[0];
  if (IsText(source)) return Write(ExplainOutOfMemoryText(source), arguments, console, exit_status);
  std::string text;
  Result<Store> store = Fail(ErrorCode::kInternal, "");
  if (source == "-") {  // can be read only once
    MEMSTRATA_ASSIGN_OR_RETURN(text, ReadText(source));
    OpenOptions options;
    options.context.limits = DefaultReadLimits();
    store = OpenBytes("-", text, options);
  } else {
    store = OpenFiles(arguments, console);
  }
  if (store) {
    KeptAnalyses analyses(*store);
    MEMSTRATA_ASSIGN_OR_RETURN(const OomAnswer answer,
                               ExplainOutOfMemory(analyses, arguments.Get("--heap").value_or("")));
    return Write(answer, arguments, console, exit_status);
  }
  if (!MayBeText(store.error()) || arguments.Has("--format")) return tl::unexpected(std::move(store).error());
  if (source != "-") {
    Result<std::string> file_text = ReadText(source);
    if (!file_text) return tl::unexpected(std::move(store).error());
    text = *std::move(file_text);
  }
  const OomAnswer answer = ExplainOutOfMemoryText(text);
  // A broken capture is no text without messages: say what is wrong with it.
  if (answer.messages.empty() && store.error().code != ErrorCode::kUnsupportedFormat)
    return tl::unexpected(std::move(store).error());
  return Write(answer, arguments, console, exit_status);
}

int RunOom(const Arguments& arguments, Console& console) {
  int exit_status = kExitOk;
  const Status status = Explain(arguments, console, exit_status);
  return status ? console.Finish(exit_status) : console.ReportError(status.error(), arguments.Has("--json"));
}

constexpr FlagSpec kFlags[] = {kJsonFlag, kHeapFlag, kFormatFlag, kQuietFlag};
constexpr std::string_view kExamples[] = {
    "memstrata oom snapshot.pickle",
    "memstrata oom train.log",
    "tail -n 5000 train.log | memstrata oom -",
    "memstrata oom - --json < train.log | jq '.reports[0].short_by_bytes'",
};

}  // namespace

const Subcommand kOom = {
    .name = "oom",
    .summary = "Why an allocation failed, and the smallest change that would have fitted, in bytes",
    .description =
        "Explains an out-of-memory failure: from a snapshot (who held the memory, what was idle and why, what would "
        "have\n"
        "fitted, by replay), or from a pasted message or log of PyTorch, JAX, TensorFlow, vLLM, SGLang, llama.cpp, "
        "CUDA or\n"
        "the kernel. Counters that cannot all be true are refused. Exit status 3: nothing failed.",
    .positional = {"FILE", "Snapshot, log or message; \"-\" is standard input", 1, 1},
    .flags = kFlags,
    .examples = kExamples,
    .run = RunOom,
};

}  // namespace memstrata::cli
