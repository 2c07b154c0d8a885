#include "report/text/plan_comparison_text.h"

#include <fmt/format.h>

#include "base/units.h"

namespace memstrata {
namespace {

using dryrun::ComparedTerm;
using dryrun::PlanComparison;
using dryrun::Verdict;

constexpr size_t kTermWidth = 20;
constexpr size_t kColumnWidth = 18;

std::string OrUnknown(std::optional<uint64_t> bytes) { return bytes ? FormatCount(*bytes) : "unknown"; }

std::string ErrorText(const ComparedTerm& term) {
  if (const std::optional<double> error = term.Error()) return fmt::format("{:+.3f} %", *error * 100);
  return term.DifferenceBytes() == 0 ? "+0.000 %" : "unknown";
}

std::string Row(std::string_view term, std::string_view planned, std::string_view found, std::string_view error) {
  return fmt::format("  {}{}{}{}\n", PadRight(term, kTermWidth), PadLeft(planned, kColumnWidth),
                     PadLeft(found, kColumnWidth), PadLeft(error, 12));
}

}  // namespace

std::string PlanComparisonText(const PlanComparison& comparison, const TextStyle& style) {
  const plan::DevicePlan& device = comparison.plan.devices.front();
  const bool fits = comparison.run.verdict() == Verdict::kFits;
  std::string out = fmt::format(
      "{}\n",
      style.Dim(fmt::format("{} on {}; PyTorch {}, transformers {}; {}", comparison.plan.model.name,
                            comparison.card.name, comparison.run.processes.front().torch_version,
                            comparison.transformers_version.empty() ? "unknown" : comparison.transformers_version,
                            FormatDuration(comparison.run.wall_ns))));
  if (!fits) {
    out += fmt::format("{} Memory ended in the phase: {}. So there is nothing to compare term by term.\n",
                       style.Error("It does not fit."), comparison.last_phase);
    if (device.simulation_fits)
      out += fmt::format("The plan says: {}.\n", *device.simulation_fits ? "it fits" : "it does not fit");
    return out;
  }
  out += style.Bold(Row("term", "plan, bytes", "dry run, bytes", "error"));
  for (const ComparedTerm& term : comparison.terms) {
    out += Row(term.term, OrUnknown(term.planned_bytes), OrUnknown(term.measured_bytes), ErrorText(term));
  }
  const bool is_same = device.peak_phase == comparison.last_phase;
  out += Row("phase of the peak", device.peak_phase.empty() ? "unknown" : device.peak_phase, comparison.last_phase,
             device.peak_phase.empty() ? "unknown" : (is_same ? "same" : "differs"));
  for (const plan::Diagnostic& diagnostic : comparison.plan.diagnostics)
    out += fmt::format("{}: {}\n", diagnostic.severity, diagnostic.text);
  return out;
}

}  // namespace memstrata
