#include "cli/dryrun_jax.h"

#include <fmt/format.h>

#include "cli/common_flags.h"
#include "dryrun/xla_compile.h"
#include "plan/cards.h"
#include "plan/workload.h"
#include "query/summary.h"
#include "report/json/dryrun_jax_json.h"
#include "report/text/dryrun_jax_text.h"
#include "report/text/summary_text.h"

namespace memstrata::cli {
namespace {

using dryrun::JaxRequest;

constexpr std::string_view kDefaultInterpreter = "python3";
constexpr std::string_view kDefaultPlatform = "tpu";
constexpr std::string_view kDefaultFile = "jax_plan.hlo_proto.pb";
constexpr std::string_view kPlanSuffix = ".hlo_proto.pb";  // by which readers know the file

// What only a run has. The plan of a compiler knows no steps, ranks or values.
constexpr std::string_view kOfRuns[] = {"--devices", "--steps", "--world",      "--rank",
                                        "--find",    "--sweep", "--find-arg",   "--expandable",
                                        "--shadow",  "--check", "--true-after", "--convolution-workspace"};

Result<JaxRequest> RequestOf(const Arguments& arguments) {
  for (const std::string_view flag : kOfRuns) {
    if (arguments.Has(flag)) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} is for programs that run; --jax compiles a function and runs nothing.", flag));
    }
  }
  JaxRequest request;
  request.interpreter = arguments.Get("--python").value_or(std::string(kDefaultInterpreter));
  request.function = *arguments.Get("--jax");
  if (request.function.find(':') == std::string::npos)
    return Fail(ErrorCode::kInvalidArgument, "--jax takes MODULE:FUNCTION, as train:step.");
  request.shapes = arguments.command;
  request.topology = arguments.Get("--topology").value_or("");
  request.platform = arguments.Get("--platform").value_or(std::string(kDefaultPlatform));
  request.output = arguments.Get("--output").value_or(std::string(kDefaultFile));
  if (!request.output.ends_with(kPlanSuffix))
    return Fail(ErrorCode::kInvalidArgument, fmt::format("With --jax, --output must end in {}.", kPlanSuffix));
  return request;
}

// None: nothing is judged. Without a card the capacity has no name.
Result<std::optional<plan::Card>> CardOf(const Arguments& arguments) {
  const std::optional<std::string> name = arguments.Get("--card");
  const std::optional<std::string> capacity = arguments.Get("--capacity");
  if (!name && !capacity) return std::optional<plan::Card>{};
  MEMSTRATA_ASSIGN_OR_RETURN(plan::Card card, plan::FindCard(name ? *name : *capacity));
  if (capacity) {
    MEMSTRATA_ASSIGN_OR_RETURN(card.visible_bytes, plan::ParseBytes(*capacity));
  }
  return std::optional<plan::Card>(std::move(card));
}

}  // namespace

Result<int> DryRunJax(const Arguments& arguments, Console& console) {
  MEMSTRATA_ASSIGN_OR_RETURN(const JaxRequest request, RequestOf(arguments));
  dryrun::JaxAnswer answer;
  MEMSTRATA_ASSIGN_OR_RETURN(answer.card, CardOf(arguments));
  MEMSTRATA_ASSIGN_OR_RETURN(answer.compilation, dryrun::CompileJax(request));
  answer.function = request.function;
  answer.is_for_cpu = request.topology.empty();
  answer.file = request.output;
  const int status = answer.Fits().value_or(true) ? kExitOk : kExitAnswerNo;
  if (arguments.Has("--json")) {
    MEMSTRATA_TRY(console.out().Write(DryRunJaxJson(answer)));
    return status;
  }
  const TextStyle style = {console.use_color(), console.width()};
  MEMSTRATA_TRY(console.out().Write(DryRunJaxText(answer, style)));
  Arguments file;
  file.positionals = {request.output};
  MEMSTRATA_ASSIGN_OR_RETURN(const Store store, OpenFiles(file, console));
  MEMSTRATA_ASSIGN_OR_RETURN(const SummaryAnswer summary, Summarize(store, {}));
  MEMSTRATA_TRY(WriteSummaryText(summary, {.style = style, .full_stacks = false}, console.out()));
  return status;
}

}  // namespace memstrata::cli
