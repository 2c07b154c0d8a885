#include "analysis/growth/growth_pass.h"

#include <fmt/format.h>

#include "analysis/frames/useful_frame.h"
#include "base/units.h"

namespace memstrata {
namespace {

// Where the memory was allocated, and, when that was in a model, who called it: the model itself keeps nothing of a
// call that has ended.
std::string HeldBy(const HeapAnalysis& analysis, const Growth& growth) {
  if (!growth.holder_stack) return "";
  std::string text =
      fmt::format(", most of it allocated in {}", UsefulFrameName(*analysis.store, *growth.holder_stack));
  const std::string caller = ModelCallerName(*analysis.store, *growth.holder_stack);
  if (!caller.empty()) text += fmt::format(", called from {}", caller);
  return text;
}

std::string EndOf(const Growth& growth) {
  if (!growth.ends_in_oom) return "";
  const OutOfMemoryEnd& end = *growth.ends_in_oom;
  return fmt::format(" {} step {}, at a request of {}.",
                     end.is_recorded ? "It ends in out-of-memory in" : "Memory runs out at the latest in", end.step,
                     FormatBytes(end.requested_bytes));
}

std::string Sentence(const HeapAnalysis& analysis, const Growth& growth) {
  const std::string held_by = HeldBy(analysis, growth);
  const std::string amount = growth.bytes_per_step ? FormatBytes(*growth.bytes_per_step) : std::string();
  const uint32_t step = growth.begin_step.value_or(0);
  switch (growth.kind) {
    case GrowthKind::kLeak:
      return fmt::format("Each step leaves {} more{}.{}", amount, held_by, EndOf(growth));
    case GrowthKind::kWarmUp:
      return fmt::format("Step {} adds {} once, blocks of the sizes of the parameters{}; later steps add nothing.",
                         step, amount, held_by);
    case GrowthKind::kSawtooth:
      return fmt::format("Memory grows by {} a step and falls back by up to {}, {}{}: a collector frees it late.",
                         amount, FormatBytes(growth.tooth_bytes.value_or(0)), FormatCount(growth.tooth_count, "time"),
                         held_by);
    case GrowthKind::kOneOff:
      return fmt::format("Step {} leaves {} that stays{}; later steps add nothing.", step, amount, held_by);
    case GrowthKind::kFragmentation:
      return fmt::format(
          "Reserved memory grows by {} over {}, what stays live does not: free blocks do not fit the requests.",
          FormatBytes(growth.reserved_growth_bytes), FormatCount(growth.step_count, "step"));
    case GrowthKind::kUnknown:
      return "It cannot be told whether memory grows.";
    case GrowthKind::kNoGrowth:
      break;
  }
  if (growth.is_generation) {
    const uint64_t first = growth.level_bytes[1];
    const uint64_t last = growth.level_bytes[growth.level_bytes.size() - 2];
    return last > first
               ? fmt::format("The cache grows by {} over {}, as a generation's does; a leak would not show in it.",
                             FormatBytes(last - first), FormatCount(growth.step_count, "step"))
               : fmt::format("Memory does not grow over {} of a generation.", FormatCount(growth.step_count, "step"));
  }
  if (growth.step_count < 3)
    return fmt::format("No growth is seen, but {} cannot show one.",
                       growth.step_count == 1 ? "one step" : fmt::format("{} steps", growth.step_count));
  return fmt::format("No growth over {} steps: 0 B a step.", growth.step_count);
}

std::string RemedyFor(GrowthKind kind) {
  switch (kind) {
    case GrowthKind::kLeak:
      return "Look for what keeps it when the step is over: a list, a cache, a tensor with its graph. Keep a detached "
             "number "
             "of it on the host instead.";
    case GrowthKind::kSawtooth:
      return "Break the reference cycle that holds it, or collect every few steps.";
    case GrowthKind::kOneOff:
      return "Delete what that step kept, for example a caught exception or an old model.";
    case GrowthKind::kFragmentation:
      return "Expandable segments, or shapes padded to few sizes.";
    default:
      return "";
  }
}

}  // namespace

std::vector<Finding> ReportGrowth(const HeapAnalysis& analysis) {
  const Growth growth = FindGrowth(analysis);
  if (growth.step_count == 0) return {};
  Finding finding;
  finding.id = fmt::format("growth_{}", kGrowthKindNames[static_cast<size_t>(growth.kind)]);
  const bool is_fault = growth.kind == GrowthKind::kLeak || growth.kind == GrowthKind::kSawtooth ||
                        growth.kind == GrowthKind::kOneOff || growth.kind == GrowthKind::kFragmentation;
  finding.severity = is_fault ? FindingSeverity::kWarning : FindingSeverity::kInfo;
  finding.text = Sentence(analysis, growth);
  if (growth.bytes_per_step) finding.bytes = static_cast<uint64_t>(std::max<int64_t>(0, *growth.bytes_per_step));
  if (growth.kind == GrowthKind::kFragmentation) finding.bytes = growth.reserved_growth_bytes;
  finding.confidence = Confidence::kComputed;
  finding.remedy = RemedyFor(growth.kind);
  finding.evidence.begin_seq = analysis.timeline.steps.front().begin_seq;
  finding.evidence.end_seq = analysis.timeline.steps.back().end_seq;
  if (growth.begin_step) finding.evidence.begin_seq = analysis.timeline.steps[*growth.begin_step].begin_seq;
  if (growth.holder_stack) finding.evidence.stack = *growth.holder_stack;
  return {finding};
}

}  // namespace memstrata
