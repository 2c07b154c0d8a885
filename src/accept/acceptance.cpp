#include "accept/acceptance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

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
Measured Highest(std::span<const RepeatFigures> repeats, Measured DeviceFigures::*member) {
  Measured highest;
  for (const RepeatFigures& repeat : repeats) {
    for (const DeviceFigures& device : repeat.devices) TakeHigher(device.*member, highest);
  }
  return highest;
}

Measured Highest(std::span<const RepeatFigures> repeats, Measured RepeatFigures::*member) {
  Measured highest;
  for (const RepeatFigures& repeat : repeats) TakeHigher(repeat.*member, highest);
  return highest;
}

// Whose memory a row tells of: of the first that was measured.
struct MemoryBasis {
  std::string_view name;
  Measured (*highest)(std::span<const RepeatFigures> repeats);
};
constexpr MemoryBasis kMemoryBases[] = {
    {"device", [](std::span<const RepeatFigures> repeats) { return Highest(repeats, &DeviceFigures::used_bytes); }},
    {"framework",
     [](std::span<const RepeatFigures> repeats) { return Highest(repeats, &DeviceFigures::framework_bytes); }},
    {"host", [](std::span<const RepeatFigures> repeats) { return Highest(repeats, &RepeatFigures::host_bytes); }},
};

// One figure of a row to compare: smaller is better.
struct Cost {
  std::optional<double> value;
  double scatter = 0;
  bool is_lower_bound = false;
};

// -1: `a` is better, 1: `b` is, 0: they are equal, or it is not known which is. Unknown is worse than known.
int Compare(const Cost& a, const Cost& b) {
  if (!a.value || !b.value) return static_cast<int>(b.value.has_value()) - static_cast<int>(a.value.has_value());
  const double tie = std::max(a.scatter, b.scatter) * std::max(std::abs(*a.value), std::abs(*b.value));
  if (*a.value < *b.value - tie) return a.is_lower_bound ? 0 : -1;
  if (*b.value < *a.value - tie) return b.is_lower_bound ? 0 : 1;
  return 0;
}

std::vector<Cost> CostsOf(const SweepRow& row, bool higher_is_better) {
  const auto negative = [](std::optional<double> value) { return value ? std::optional(-*value) : value; };
  return {{row.memory_bytes, row.memory_scatter, row.is_lower_bound},
          {row.latency_s, row.latency_scatter},
          {negative(row.throughput_per_s), row.latency_scatter},
          {higher_is_better ? negative(row.quality) : row.quality}};
}

bool Dominates(const SweepRow& a, const SweepRow& b, bool higher_is_better) {
  if (a.memory_basis != b.memory_basis) return false;
  const std::vector<Cost> own = CostsOf(a, higher_is_better);
  const std::vector<Cost> other = CostsOf(b, higher_is_better);
  bool is_better = false;
  for (size_t i = 0; i < own.size(); ++i) {
    const int order = Compare(own[i], other[i]);
    if (order > 0) return false;
    is_better |= order < 0;
  }
  return is_better;
}

// How far a figure of the repeats lies apart, as a part of the highest; of one value it is assumed.
template <class Figure>
double ScatterOf(const std::vector<RepeatFigures>& repeats, const Figure& figure) {
  std::vector<double> values;
  for (const RepeatFigures& repeat : repeats) {
    if (const Measured measured = figure(repeat); measured.value) values.push_back(*measured.value);
  }
  if (values.size() < 2) return kAssumedFraction;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *most > 0 ? std::max(kLeastLearnedFraction, (*most - *least) / *most) : 0;
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
  for (const InputFile& input : identity.inputs) {
    if (!input.size_bytes)
      return Fail(ErrorCode::kInvalidArgument, fmt::format("workload.inputs: \"{}\" cannot be read.", input.file));
  }
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
  for (const MemoryBasis& basis : kMemoryBases) {
    const Measured measured = basis.highest(repeats);
    if (!measured.value) continue;
    row.memory_bytes = measured.value;
    row.memory_basis = basis.name;
    row.is_lower_bound = measured.is_lower_bound;
    row.memory_scatter = ScatterOf(repeats, [&](const RepeatFigures& one) { return basis.highest({&one, 1}); });
    break;
  }
  row.latency_scatter = ScatterOf(repeats, [](const RepeatFigures& one) { return one.iteration_time_s; });
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
