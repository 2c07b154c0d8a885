#include "accept/acceptance.h"

#include <fmt/format.h>

#include <algorithm>

#include "accept/checklist.h"
#include "accept/identity.h"
#include "accept/spec_table.h"
#include "accept/trial.h"

namespace memstrata::accept {
namespace {

void TakeHigher(const Measured& candidate, Measured& highest) {
  if (candidate.value && (!highest.value || *candidate.value > *highest.value)) highest = candidate;
}

// The highest of one figure over repeats and devices.
Measured Highest(const std::vector<RepeatFigures>& repeats, Measured DeviceFigures::*member) {
  Measured highest;
  for (const RepeatFigures& repeat : repeats) {
    for (const DeviceFigures& device : repeat.devices) TakeHigher(device.*member, highest);
  }
  return highest;
}

Measured Highest(const std::vector<RepeatFigures>& repeats, Measured RepeatFigures::*member) {
  Measured highest;
  for (const RepeatFigures& repeat : repeats) TakeHigher(repeat.*member, highest);
  return highest;
}

// Whether `a` is at least as good as `b`: smaller is better. Unknown is no better than anything.
bool AtMost(std::optional<double> a, std::optional<double> b) { return !b || (a && *a <= *b); }
bool Below(std::optional<double> a, std::optional<double> b) { return a && (!b || *a < *b); }

std::optional<double> Cost(std::optional<double> quality, bool higher_is_better) {
  if (quality && higher_is_better) return -*quality;
  return quality;
}

bool Dominates(const SweepRow& a, const SweepRow& b, bool higher_is_better) {
  if (a.memory_basis != b.memory_basis) return false;
  const std::pair<std::optional<double>, std::optional<double>> costs[] = {
      {a.memory_bytes, b.memory_bytes},
      {a.latency_s, b.latency_s},
      {Cost(a.throughput_per_s, true), Cost(b.throughput_per_s, true)},
      {Cost(a.quality, higher_is_better), Cost(b.quality, higher_is_better)},
  };
  bool is_better = false;
  for (const auto& [own, other] : costs) {
    if (!AtMost(own, other)) return false;
    is_better |= Below(own, other);
  }
  return is_better;
}

std::string FileName(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

}  // namespace

Acceptance Conclude(const Spec& spec, std::vector<RepeatFigures> repeats, Identity identity) {
  Acceptance acceptance{spec, Verdict::kUndecided, {}, {}, std::move(repeats), std::move(identity)};
  AddMeasured(spec, acceptance.repeats, acceptance.identity);
  acceptance.checks = Judge(spec, acceptance.repeats);
  acceptance.verdict = Overall(acceptance.checks);
  acceptance.checklist = ChecklistOf(acceptance);
  return acceptance;
}

Result<Acceptance> Accept(const Spec& spec, const std::string& folder,
                          const std::function<void(std::string_view)>& progress) {
  Identity identity = IdentityOf(spec);
  std::vector<RepeatFigures> repeats;
  for (uint64_t i = 1; i <= spec.workload.repeat_count; ++i) {
    if (progress) progress(fmt::format("run {} of {}", i, spec.workload.repeat_count));
    MEMSTRATA_ASSIGN_OR_RETURN(RepeatFigures figures, RunRepeat(spec, folder, fmt::format("repeat{}", i)));
    repeats.push_back(std::move(figures));
    if (repeats.back().was_interrupted) break;  // whoever ended it does not want the next one
  }
  return Conclude(spec, std::move(repeats), std::move(identity));
}

SweepRow RowOf(const std::map<std::string, std::string>& parameters, const Acceptance& acceptance) {
  const std::vector<RepeatFigures>& repeats = acceptance.repeats;
  SweepRow row{.parameters = parameters, .verdict = acceptance.verdict};
  const std::pair<std::string_view, Measured> memory[] = {
      {"device", Highest(repeats, &DeviceFigures::used_bytes)},
      {"framework", Highest(repeats, &DeviceFigures::framework_bytes)},
      {"host", Highest(repeats, &RepeatFigures::host_bytes)},
  };
  for (const auto& [basis, measured] : memory) {
    if (row.memory_bytes || !measured.value) continue;
    row.memory_bytes = measured.value;
    row.memory_basis = basis;
    row.is_lower_bound = measured.is_lower_bound;
  }
  row.latency_s = Highest(repeats, &RepeatFigures::iteration_time_s).value;
  const double items = ItemsPerIteration(acceptance.spec) * static_cast<double>(acceptance.spec.workload.copies);
  if (row.latency_s && *row.latency_s > 0) row.throughput_per_s = items / *row.latency_s;
  for (const Check& check : acceptance.checks) {
    if (check.name == "quality") row.quality = check.value;
  }
  return row;
}

void MarkPareto(std::vector<SweepRow>& rows, bool higher_is_better) {
  for (SweepRow& row : rows) {
    row.is_pareto = row.verdict != Verdict::kFail && row.memory_bytes.has_value() &&
                    std::none_of(rows.begin(), rows.end(), [&](const SweepRow& other) {
                      return other.verdict != Verdict::kFail && Dominates(other, row, higher_is_better);
                    });
  }
}

void RedactParameters(std::map<std::string, std::string>& parameters) {
  for (auto& [name, value] : parameters) {
    if (!NumberIn(value)) value = "removed";
  }
}

void RedactAcceptance(Acceptance& acceptance) {
  acceptance.identity.command = {kRedactedCommand};
  acceptance.identity.system.clear();
  acceptance.identity.inherited.clear();
  RedactParameters(acceptance.spec.parameters);
  for (auto& [name, value] : acceptance.identity.settings) {
    if (name == "quality" || name.starts_with("beside")) value = "removed";
  }
  for (size_t i = 0; i < acceptance.identity.inputs.size(); ++i)
    acceptance.identity.inputs[i].file = fmt::format("input {}", i + 1);
  for (RepeatFigures& repeat : acceptance.repeats) {
    repeat.folder = FileName(repeat.folder);
    for (DeviceFigures& device : repeat.devices) device.uuid.clear();
    if (!repeat.error_text.empty()) repeat.error_text = "removed";
    if (!repeat.quality.value && !repeat.quality.basis.empty()) repeat.quality.basis = "removed";
  }
  for (Check& check : acceptance.checks) {
    const bool may_quote = check.name == "errors" || check.name == "quality";
    if (may_quote && check.verdict != Verdict::kPass) check.text = "removed";
  }
  acceptance.checklist = ChecklistOf(acceptance);
  acceptance.spec.environment.clear();
  acceptance.spec.name.clear();
}

}  // namespace memstrata::accept
