#include "query/program_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/units.h"

namespace memstrata {
namespace {

std::string WhyNoPlan(const ProgramRun& run) {
  return run.match == ProgramMatch::kAmbiguous
             ? fmt::format("Several programs of the session are called {}; the profile does not say which one ran.",
                           run.name)
             : fmt::format("The session holds no plan of {}; open its *.hlo_proto.pb beside the profile.", run.name);
}

std::string PlanText(const PlannedBytes& plan) {
  return fmt::format("{} arguments + {} outputs + {} temporaries", FormatBytes(plan.argument_bytes),
                     FormatBytes(plan.output_bytes), FormatBytes(plan.temp_bytes));
}

std::string DescribeDeviceRun(const ProgramRun& run) {
  const int64_t beyond = BeyondPlanBytes(run);
  std::string text = fmt::format(
      "While {} runs, {} of stack are reserved; its plan needs {} of temporaries, so that {} {}.", run.name,
      FormatBytes(run.stack_bytes), FormatBytes(run.plan.temp_bytes), FormatBytes(beyond < 0 ? -beyond : beyond),
      beyond < 0 ? "of them lie elsewhere" : "are reserved beyond this program");
  text += fmt::format(" The heap holds {}; the arguments and outputs of the plan are {}.", FormatBytes(run.heap_bytes),
                      FormatBytes(run.plan.argument_bytes + run.plan.output_bytes));
  return text;
}

// What the blocks of the run itself say.
std::string DescribeOwn(const ProgramRun& run) {
  const uint64_t planned_bytes = run.plan.output_bytes + run.plan.temp_bytes;
  std::string text =
      run.unallocated_bytes == 0
          ? fmt::format(" The run allocated all {} of its outputs and temporaries", FormatBytes(planned_bytes))
          : fmt::format(" Of its outputs and temporaries ({}), {} were not allocated in the run",
                        FormatBytes(planned_bytes), FormatBytes(run.unallocated_bytes));
  if (run.own_unplanned_bytes > 0)
    text +=
        fmt::format("; {} that it allocated are in no allocation of the plan", FormatBytes(run.own_unplanned_bytes));
  if (run.rounding_bytes > 0)
    text += fmt::format("; the allocator's rounding adds {}", FormatBytes(run.rounding_bytes));
  return text + ".";
}

std::string DescribeRest(const ProgramRun& run) {
  std::vector<std::string> parts;
  if (run.other_bytes > 0)
    parts.push_back(fmt::format("{} that other runs, or the program around them, allocated and still hold",
                                FormatBytes(run.other_bytes)));
  if (run.before_recording_bytes > 0)
    parts.push_back(fmt::format("{} from before the recording", FormatBytes(run.before_recording_bytes)));
  if (run.not_recorded_bytes != 0)
    parts.push_back(fmt::format("{} whose events are missing", FormatBytes(run.not_recorded_bytes)));
  if (parts.empty()) return "";
  std::string text = " Besides there are ";
  for (size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text + fmt::format("; the {} of arguments are among them.", FormatBytes(run.plan.argument_bytes));
}

}  // namespace

std::vector<ProgramUse> UseByProgram(const std::vector<ProgramRun>& runs) {
  std::map<std::string_view, ProgramUse> by_name;
  for (const ProgramRun& run : runs) {
    const auto [entry, is_new] = by_name.try_emplace(run.name, ProgramUse{run.name, 0, run});
    ProgramUse& use = entry->second;
    ++use.run_count;
    if (run.used_bytes() > use.highest.used_bytes()) use.highest = run;
  }
  std::vector<ProgramUse> uses;
  uses.reserve(by_name.size());
  for (const auto& [name, use] : by_name) uses.push_back(use);
  std::stable_sort(uses.begin(), uses.end(), [](const ProgramUse& a, const ProgramUse& b) {
    return a.highest.used_bytes() > b.highest.used_bytes();
  });
  return uses;
}

int64_t BeyondPlanBytes(const ProgramRun& run) {
  const uint64_t shown = run.is_on_device ? run.stack_bytes : run.used_bytes();
  const uint64_t planned = run.is_on_device ? run.plan.temp_bytes : run.plan.total_bytes();
  return static_cast<int64_t>(shown - planned);
}

std::string DescribeRun(const ProgramRun& run) {
  if (run.program == kNone) return WhyNoPlan(run);
  if (run.is_on_device) return DescribeDeviceRun(run);
  return fmt::format("At the highest moment of {} the allocator shows {}; its plan explains {} ({}).", run.name,
                     FormatBytes(run.used_bytes()), FormatBytes(run.plan.total_bytes()), PlanText(run.plan)) +
         DescribeOwn(run) + DescribeRest(run);
}

void WriteRunFields(JsonWriter& json, const ProgramRun& run) {
  const bool has_plan = run.program != kNone;
  const auto planned = [&](uint64_t bytes) { return has_plan ? std::optional(bytes) : std::nullopt; };
  const bool knows_own = !run.is_on_device;
  const auto own = [&](uint64_t bytes) { return knows_own ? std::optional(bytes) : std::nullopt; };
  json.Field("program", run.name);
  json.Field("program_index", has_plan ? std::optional(run.program) : std::nullopt);
  json.Field("matched_by", kProgramMatchNames[static_cast<size_t>(run.match)]);
  json.Field("on_device", run.is_on_device);
  json.Field("begin_seq", run.begin_seq);
  json.Field("end_seq", run.end_seq);
  json.Field("high_seq", run.high_seq);
  json.Field("duration_ns", (run.end_ps - run.begin_ps) / 1000);
  json.Field("used_bytes", run.used_bytes());
  json.Field("stack_bytes", run.stack_bytes);
  json.Field("heap_bytes", run.heap_bytes);
  json.Field("planned_bytes", planned(run.plan.total_bytes()));
  json.Field("argument_bytes", planned(run.plan.argument_bytes));
  json.Field("output_bytes", planned(run.plan.output_bytes));
  json.Field("temp_bytes", planned(run.plan.temp_bytes));
  json.Field("beyond_plan_bytes", has_plan ? std::optional(BeyondPlanBytes(run)) : std::nullopt);
  json.Field("own_temp_bytes", own(run.own_temp_bytes));
  json.Field("own_output_bytes", own(run.own_output_bytes));
  json.Field("own_unplanned_bytes", own(run.own_unplanned_bytes));
  json.Field("rounding_bytes", own(run.rounding_bytes));
  json.Field("unallocated_bytes", has_plan ? own(run.unallocated_bytes) : std::nullopt);
  json.Field("other_bytes", own(run.other_bytes));
  json.Field("before_recording_bytes", run.before_recording_bytes);
  json.Field("not_recorded_bytes", run.not_recorded_bytes);
  json.Field("text", std::string_view(DescribeRun(run)));
}

}  // namespace memstrata
