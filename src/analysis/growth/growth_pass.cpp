#include "analysis/growth/growth_pass.h"

#include <fmt/format.h>

#include "analysis/frames/useful_frame.h"
#include "analysis/growth/growth_holder.h"
#include "base/units.h"

namespace memstrata {
namespace {

// Where the memory was allocated, and, when that was in a model, who called it: the model itself keeps nothing of a
// call that has ended.
std::string HeldBy(const HeapAnalysis& analysis, const Growth& growth) {
  if (!growth.holder_stack) return "";
  const bool is_most = growth.largest_holder_bytes * 2 > growth.holder_bytes;
  const std::string share =
      is_most
          ? "most"
          : FormatPercent(static_cast<double>(growth.largest_holder_bytes) / static_cast<double>(growth.holder_bytes));
  std::string text =
      fmt::format(", {} of it allocated in {}", share, UsefulFrameName(*analysis.store, *growth.holder_stack));
  const std::string caller = ModelCallerName(*analysis.store, *growth.holder_stack);
  if (!caller.empty()) text += fmt::format(", called from {}", caller);
  return text;
}

// What of the device live memory was taken not to have.
std::string NotUsable(const OutOfMemoryEnd& end) {
  std::string text;
  if (end.is_outside_measured && end.outside_bytes > 0) text = FormatBytes(end.outside_bytes) + " outside PyTorch";
  if (end.idle_bytes > 0)
    text += fmt::format("{}{} idle beside live blocks", text.empty() ? "" : " and ", FormatBytes(end.idle_bytes));
  return text.empty() ? "" : ", with " + text;
}

std::string EndOf(const Growth& growth) {
  if (!growth.ends_in_oom) return "";
  const OutOfMemoryEnd& end = *growth.ends_in_oom;
  const std::string request =
      end.is_estimate ? "" : fmt::format(", at a request of {}", FormatBytes(end.requested_bytes));
  if (end.is_recorded) return fmt::format(" It ends in out-of-memory in step {}{}.", end.step, request);
  const bool is_about = end.is_estimate || end.idle_bytes > 0;
  const std::string_view when = is_about ? "in about" : end.is_outside_measured ? "in" : "at the latest in";
  std::string text = fmt::format(" Memory runs out {} step {}{}{}.", when, end.step, request, NotUsable(end));
  if (end.likely_step)
    text += fmt::format(" With {} of the device taken outside PyTorch (assumed) it is about step {}.",
                        FormatBytes(end.outside_bytes), *end.likely_step);
  return text;
}

std::string StepsThatRose(const Growth& growth) {
  const uint32_t first = growth.begin_step.value_or(0);
  if (growth.rising_step_count <= 1) return fmt::format("Step {}", first);
  return fmt::format("Steps {} {} {}", first, growth.rising_step_count == 2 ? "and" : "to", growth.last_rising_step);
}

// The change of the last step is not looked at: it may hold the end of the program.
std::string LaterSteps(const Growth& growth) {
  const bool is_last = growth.last_rising_step + 2 >= growth.step_count;
  if (is_last) return "no later step shows whether more comes";
  if (growth.later_bytes > 0) return fmt::format("later steps add only {} in all", FormatBytes(growth.later_bytes));
  return "later steps add nothing";
}

std::string SizesOfRises(const Growth& growth) {
  return fmt::format("{} to {}", FormatBytes(growth.smallest_rise_bytes), FormatBytes(growth.largest_rise_bytes));
}

std::string LeakSentence(const Growth& growth, const std::string& held_by) {
  const uint32_t first = growth.begin_step.value_or(0);
  const std::string per_step = FormatBytes(growth.bytes_per_step.value_or(0));
  if (!growth.EachStepRises()) {
    const std::string each = growth.are_rises_alike ? fmt::format("{} more each", FormatBytes(growth.median_rise_bytes))
                                                    : fmt::format("{} more", SizesOfRises(growth));
    return fmt::format("{} of {} steps leave {}, {} a step on average{}.{}", growth.rising_step_count,
                       growth.step_count, each, per_step, held_by, EndOf(growth));
  }
  const std::string who = first <= 1 ? "Each step" : fmt::format("From step {} on each step", first);
  if (growth.are_rises_alike) return fmt::format("{} leaves {} more{}.{}", who, per_step, held_by, EndOf(growth));
  return fmt::format("{} leaves more, {} on average ({}){}.{}", who, per_step, SizesOfRises(growth), held_by,
                     EndOf(growth));
}

std::string SentenceOfGeneration(const Growth& growth) {
  const std::string steps = FormatCount(growth.step_count, "step");
  if (growth.bytes_per_step.value_or(0) <= 0)
    return fmt::format("Memory does not grow over {} of a generation.", steps);
  return fmt::format("The cache grows by {} a step over {}, as a generation's does; a leak would not show in it.",
                     FormatBytes(*growth.bytes_per_step), steps);
}

// What steps that are too few to judge add in all. An optimizer makes states in the first of them.
int64_t KeptInFewSteps(const HeapAnalysis& analysis) {
  const std::vector<StepSpan>& steps = analysis.timeline.steps;
  if (analysis.timeline.Has(Phase::kOptimizer)) return 0;
  return static_cast<int64_t>(analysis.live.At(Moment::AfterEvent(steps.back().end_seq - 1))) -
         static_cast<int64_t>(analysis.live.At(Moment{steps.front().begin_seq}));
}

// One or two steps, which may be many that were taken for one.
std::string SentenceOfFewSteps(const HeapAnalysis& analysis, const Growth& growth) {
  std::string text = fmt::format("Whether memory grows cannot be told from {}",
                                 growth.step_count == 1 ? "one step" : fmt::format("{} steps", growth.step_count));
  const int64_t kept = KeptInFewSteps(analysis);
  if (kept > 0 && static_cast<uint64_t>(kept) * 4 > analysis.peak.bytes)
    text += fmt::format("; {} more is live at the end than at the begin", FormatBytes(kept));
  return text + ".";
}

std::string SentenceOfNoGrowth(const HeapAnalysis& analysis, const Growth& growth) {
  if (growth.is_generation) return SentenceOfGeneration(growth);
  if (growth.step_count < 4) return SentenceOfFewSteps(analysis, growth);
  if (!growth.bytes_per_step) return fmt::format("No steady growth over {} steps.", growth.step_count);
  return fmt::format("No growth over {} steps: {} a step.", growth.step_count, FormatBytes(*growth.bytes_per_step));
}

// The program's own line that gives back what steps of a sawtooth have piled up; 0 where there is none.
StackId ReleasingStackOf(const HeapAnalysis& analysis) {
  const Growth& growth = analysis.growth;
  if (growth.kind != GrowthKind::kSawtooth) return {0};
  std::vector<uint32_t> falling_steps;  // by more than a step adds
  for (uint32_t step = 1; step + 2 < growth.level_bytes.size(); ++step) {
    const auto fall =
        static_cast<int64_t>(growth.level_bytes[step]) - static_cast<int64_t>(growth.level_bytes[step + 1]);
    if (fall > growth.bytes_per_step.value_or(0)) falling_steps.push_back(step);
  }
  return FindReleasingStack(analysis, falling_steps);
}

std::string Sentence(const HeapAnalysis& analysis, const Growth& growth, StackId releasing) {
  const std::string held_by = HeldBy(analysis, growth);
  const std::string amount = growth.bytes_per_step ? FormatBytes(*growth.bytes_per_step) : std::string();
  switch (growth.kind) {
    case GrowthKind::kLeak:
      return LeakSentence(growth, held_by);
    case GrowthKind::kWarmUp:
      if (growth.is_shape_cache)
        return fmt::format(
            "{}, the first of their shapes, leave {} in all{}; steps of a known shape add nothing: a cache by shape.",
            FormatCount(growth.rising_step_count, "step"), amount, held_by);
      return fmt::format("{} {} {}{}{}; {}.", StepsThatRose(growth), growth.rising_step_count > 1 ? "add" : "adds",
                         amount, growth.rising_step_count > 1 ? " in all" : " once", held_by, LaterSteps(growth));
    case GrowthKind::kSawtooth:
      return fmt::format("Memory grows by {} a step and falls back by up to {}, {}{}: {}.", amount,
                         FormatBytes(growth.tooth_bytes.value_or(0)), FormatCount(growth.tooth_count, "time"), held_by,
                         releasing.value != 0
                             ? fmt::format("it is given back at {}, where the program drops it or a collector runs",
                                           UsefulFrameName(*analysis.store, releasing))
                             : "a collector frees it late, or the program itself does");
    case GrowthKind::kOneOff:
      return fmt::format("{} leaves {} that stays{}; {}.", StepsThatRose(growth), amount, held_by, LaterSteps(growth));
    case GrowthKind::kFragmentation:
      return fmt::format(
          "Reserved memory grows by {} over {}, what stays live does not: free blocks do not fit the requests.",
          FormatBytes(growth.reserved_growth_bytes), FormatCount(growth.step_count, "step"));
    case GrowthKind::kUnknown:
      return fmt::format("{} leave {} in all that stays{}; {} whether more comes.", StepsThatRose(growth), amount,
                         held_by,
                         growth.rising_step_count == 2 ? "twice does not tell" : "too few steps follow to tell");
    case GrowthKind::kNoGrowth:
      break;
  }
  return SentenceOfNoGrowth(analysis, growth);
}

std::string RemedyFor(const Growth& growth, StackId releasing) {
  switch (growth.kind) {
    case GrowthKind::kLeak:
      return "Look for what keeps it when the step is over: a list, a cache, a tensor with its graph. Keep a detached "
             "number "
             "of it on the host instead.";
    case GrowthKind::kSawtooth:
      return releasing.value != 0 ? "" : "If a reference cycle holds it, break that, or collect every few steps.";
    case GrowthKind::kOneOff:
      return "Delete what that step kept, for example a caught exception or an old model.";
    case GrowthKind::kUnknown:
      return "Record more steps.";
    case GrowthKind::kFragmentation:
      return "Expandable segments, or shapes padded to few sizes.";
    default:
      return "";
  }
}

}  // namespace

std::vector<Finding> ReportGrowth(const HeapAnalysis& analysis) {
  const Growth& growth = analysis.growth;
  if (growth.step_count == 0) return {};
  const StackId releasing = ReleasingStackOf(analysis);
  Finding finding;
  finding.id = fmt::format("growth_{}", kGrowthKindNames[static_cast<size_t>(growth.kind)]);
  const bool is_fault =
      growth.kind != GrowthKind::kNoGrowth && growth.kind != GrowthKind::kWarmUp && releasing.value == 0;
  finding.severity = is_fault ? FindingSeverity::kWarning : FindingSeverity::kInfo;
  finding.text = Sentence(analysis, growth, releasing);
  if (growth.bytes_per_step) finding.bytes = static_cast<uint64_t>(std::max<int64_t>(0, *growth.bytes_per_step));
  if (growth.kind == GrowthKind::kFragmentation) finding.bytes = growth.reserved_growth_bytes;
  finding.confidence = Confidence::kComputed;
  finding.remedy = RemedyFor(growth, releasing);
  finding.evidence.begin_seq = analysis.timeline.steps.front().begin_seq;
  finding.evidence.end_seq = analysis.timeline.steps.back().end_seq;
  if (growth.begin_step) finding.evidence.begin_seq = analysis.timeline.steps[*growth.begin_step].begin_seq;
  if (growth.holder_stack) finding.evidence.stack = *growth.holder_stack;
  return {finding};
}

}  // namespace memstrata
