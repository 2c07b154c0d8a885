#include "accept/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "accept/spec_table.h"
#include "base/units.h"

namespace memstrata::accept {
namespace {

constexpr double kNsPerS = 1e9;

std::string Words(double value, std::string_view unit) {
  if (unit == "bytes") return FormatBytes(static_cast<int64_t>(std::llround(value)));
  if (unit == "s") return FormatDuration(static_cast<int64_t>(std::llround(value * kNsPerS)));
  return fmt::format("{:.6g}", value);
}

// The worst of one figure over repeats and devices, and what there is to say about it.
struct Worst {
  Measured figure;
  std::string place;  // of which device
  bool is_lower_bound = false;
  std::string bound_basis;  // of a figure that is one
  bool was_interrupted = false;
  bool is_disturbed = false;  // by other users of the device
  bool lacks_one = false;     // a repeat has no value
};

void Take(Worst& worst, const Measured& figure, const std::string& place) {
  worst.is_lower_bound |= figure.is_lower_bound;
  if (figure.is_lower_bound && worst.bound_basis.empty()) worst.bound_basis = figure.basis;
  if (!figure.value) {
    worst.lacks_one = true;
    if (!worst.figure.value) worst.figure.basis = figure.basis;
  } else if (!worst.figure.value || *figure.value > *worst.figure.value) {
    worst.figure = figure;
    worst.place = place;
  }
}

Worst WorstOf(const std::vector<RepeatFigures>& repeats, Measured RepeatFigures::*member) {
  Worst worst;
  for (const RepeatFigures& repeat : repeats) {
    worst.was_interrupted |= repeat.was_interrupted;
    Take(worst, repeat.*member, "");
  }
  return worst;
}

bool HasFramework(const RepeatFigures& repeat) {
  return std::any_of(repeat.devices.begin(), repeat.devices.end(),
                     [](const DeviceFigures& device) { return device.framework_bytes.value.has_value(); });
}

// `by_framework`: of the frameworks alone, whom others do not disturb; a device that none of them uses counts only
// where there is no other.
Worst WorstDevice(const std::vector<RepeatFigures>& repeats, Measured DeviceFigures::*member, bool by_framework) {
  Worst worst;
  for (const RepeatFigures& repeat : repeats) {
    worst.was_interrupted |= repeat.was_interrupted;
    if (repeat.devices.empty()) Take(worst, {std::nullopt, false, repeat.why_no_device}, "");
    for (const DeviceFigures& device : repeat.devices) {
      if (by_framework && !device.framework_bytes.value && HasFramework(repeat)) continue;
      worst.is_disturbed |= !by_framework && device.used_by_others.value_or(false);
      Take(worst, device.*member, device.id);
    }
  }
  return worst;
}

// Why a value below its limit does not pass; empty when it does.
std::string Doubt(const Worst& worst) {
  if (worst.is_disturbed) return "Other processes used the device meanwhile.";
  if (worst.was_interrupted) return "A run was interrupted.";
  if (worst.lacks_one) return worst.figure.basis.empty() ? "It was not measured in every run." : worst.figure.basis;
  if (worst.is_lower_bound) return "The true value may be higher. " + worst.bound_basis;
  return "";
}

Check UpperLimit(std::string name, std::string unit, const Worst& worst, double limit, std::string_view what) {
  Check check{std::move(name), worst.figure.value, limit, std::move(unit), Verdict::kUndecided, ""};
  if (!worst.figure.value) {
    check.text = fmt::format("{} is not known: {}", what, worst.figure.basis);
    return check;
  }
  const bool is_over = *worst.figure.value > limit;
  const std::string doubt = Doubt(worst);
  check.verdict = is_over && !worst.is_disturbed ? Verdict::kFail
                  : doubt.empty()                ? Verdict::kPass
                                                 : Verdict::kUndecided;
  check.text = fmt::format("{}{} is {}{}; the limit is {}.", what, worst.place.empty() ? "" : " of " + worst.place,
                           worst.is_lower_bound ? "at least " : "", Words(*worst.figure.value, check.unit),
                           Words(limit, check.unit));
  if (check.verdict == Verdict::kUndecided) check.text += " " + doubt;
  return check;
}

// Says of what: a program may grow on the host while its device does not.
Check Growth(const Spec& spec, const std::vector<RepeatFigures>& repeats) {
  const Worst worst = WorstOf(repeats, &RepeatFigures::growth_bytes);
  Check check =
      UpperLimit("growth", "bytes", worst, static_cast<double>(*spec.limits.growth_bytes), "The growth per iteration");
  const bool is_of_device = std::any_of(repeats.begin(), repeats.end(), [](const RepeatFigures& repeat) {
    return repeat.growth_bytes.basis != repeat.host_growth_bytes.basis;
  });
  if (worst.figure.value) check.text += " " + worst.figure.basis;
  if (is_of_device && !spec.limits.host_growth_bytes)
    check.text += " The host is not looked at; limits.host_growth_per_iteration does.";
  return check;
}

Check Throughput(const Spec& spec, const Worst& time) {
  const double limit = *spec.limits.throughput_per_s;
  Check check{"throughput", std::nullopt, limit, "1/s", Verdict::kUndecided, ""};
  if (!time.figure.value || *time.figure.value <= 0) {
    check.text = "The throughput is not known: " + time.figure.basis;
    return check;
  }
  const double items = ItemsPerIteration(spec) * static_cast<double>(spec.workload.copies);
  check.value = items / *time.figure.value;
  const std::string doubt = Doubt(time);
  check.verdict = *check.value < limit ? Verdict::kFail : doubt.empty() ? Verdict::kPass : Verdict::kUndecided;
  check.text = fmt::format("The slowest run does {:.6g} a second; at least {:.6g} are asked for.", *check.value, limit);
  if (check.verdict == Verdict::kUndecided) check.text += " " + doubt;
  return check;
}

Check Errors(const Spec& spec, const std::vector<RepeatFigures>& repeats) {
  uint64_t count = 0;
  bool was_interrupted = false;
  std::string first;
  for (const RepeatFigures& repeat : repeats) {
    count += repeat.error_count;
    was_interrupted |= repeat.was_interrupted;
    if (first.empty()) first = repeat.error_text;
  }
  const double limit = static_cast<double>(spec.limits.error_count);
  Check check{"errors", static_cast<double>(count), limit, "count", Verdict::kPass, ""};
  if (count > spec.limits.error_count) {
    check.verdict = Verdict::kFail;
  } else if (was_interrupted) {
    check.verdict = Verdict::kUndecided;
  }
  if (count > 0) check.text = fmt::format("{}: {} ", FormatCount(count, "error"), first);
  if (was_interrupted) check.text += "A run was interrupted: a signal came to end it, or its recording was cut off.";
  if (check.text.empty()) check.text = "No run ended with an error.";
  if (check.text.back() == ' ') check.text.pop_back();
  return check;
}

const DeviceFigures* FindDevice(const RepeatFigures& repeat, const std::string& id) {
  const auto found = std::find_if(repeat.devices.begin(), repeat.devices.end(),
                                  [&id](const DeviceFigures& device) { return device.id == id; });
  return found == repeat.devices.end() ? nullptr : &*found;
}

// What must stay free of a device, and what does.
Check MarginOfDevice(const Spec& spec, const std::vector<RepeatFigures>& repeats, const std::string& id) {
  Check check{"margin", std::nullopt, std::nullopt, "bytes", Verdict::kUndecided, ""};
  std::vector<double> peaks;
  Worst worst;
  std::optional<uint64_t> capacity_bytes = spec.margin.capacity_bytes;
  for (const RepeatFigures& repeat : repeats) {
    worst.was_interrupted |= repeat.was_interrupted;
    const DeviceFigures* found = FindDevice(repeat, id);
    if (found == nullptr) {
      check.text = fmt::format("The margin is not known: {}",
                               id.empty() ? repeat.why_no_device : fmt::format("A run did not use {}.", id));
      return check;
    }
    const DeviceFigures& figures = *found;
    worst.is_disturbed |= figures.used_by_others.value_or(false);
    Take(worst, figures.used_bytes, figures.id);
    if (!capacity_bytes) capacity_bytes = figures.capacity_bytes;
    if (figures.used_bytes.value) peaks.push_back(*figures.used_bytes.value);
  }
  if (peaks.empty() || !capacity_bytes) {
    check.text = fmt::format("The margin is not known: {}",
                             peaks.empty() ? worst.figure.basis : "The capacity is not known; set limits.capacity.");
    return check;
  }
  const double capacity = static_cast<double>(*capacity_bytes);
  const bool is_learned = !spec.margin.given;
  const Tolerance learned = ToleranceOf(peaks, 1, {});
  const double highest = is_learned ? learned.mean : *worst.figure.value;
  const double needed = is_learned
                            ? learned.allowed
                            : spec.margin.given->amount.value_or(spec.margin.given->fraction.value_or(0) * capacity);
  check.value = capacity - highest;
  check.limit = needed;
  const std::string doubt = Doubt(worst);
  check.verdict = *check.value < needed && !worst.is_disturbed ? Verdict::kFail
                  : doubt.empty()                              ? Verdict::kPass
                                                               : Verdict::kUndecided;
  check.text =
      fmt::format("{} of {} stay free of {}; {} are asked for ({}).", Words(*check.value, "bytes"),
                  Words(capacity, "bytes"), worst.place, Words(needed, "bytes"), is_learned ? learned.how : "given");
  if (check.verdict == Verdict::kUndecided) check.text += " " + doubt;
  return check;
}

Check Quality(const QualitySpec& quality, const std::vector<RepeatFigures>& repeats) {
  const bool compares = !quality.output.empty();
  Check check{
      "quality", std::nullopt,   compares ? std::nullopt : (quality.minimum ? quality.minimum : quality.maximum),
      "1",       Verdict::kPass, ""};
  for (const RepeatFigures& repeat : repeats) {
    Verdict verdict = Verdict::kUndecided;
    if (repeat.quality.value) {
      const double value = *repeat.quality.value;
      const bool is_good = compares ? value == 1
                                    : std::isfinite(value) && value >= quality.minimum.value_or(-INFINITY) &&
                                          value <= quality.maximum.value_or(INFINITY);
      verdict = !is_good ? Verdict::kFail : repeat.was_interrupted ? Verdict::kUndecided : Verdict::kPass;
    }
    if (check.text.empty() || (verdict != Verdict::kPass && check.verdict == Verdict::kPass) ||
        verdict == Verdict::kFail) {
      check.value = repeat.quality.value;
      check.text = repeat.quality.value ? repeat.quality_text : "The quality is not known: " + repeat.quality.basis;
    }
    check.verdict = Both(check.verdict, verdict);
  }
  return check;
}

std::optional<double> NumberOf(const Spec& spec, const std::string& parameter) {
  const auto found = spec.parameters.find(parameter);
  return found == spec.parameters.end() ? std::nullopt : NumberIn(found->second);
}

Check Coverage(const Spec& spec) {
  const std::vector<std::string> gaps = CoverageGaps(spec);
  Check check{"coverage", std::nullopt, std::nullopt, "1", gaps.empty() ? Verdict::kPass : Verdict::kUndecided, ""};
  for (const std::string& gap : gaps) check.text += (check.text.empty() ? "" : " ") + gap;
  if (gaps.empty()) check.text = "The run reaches the declared maximum of every parameter.";
  return check;
}

// Of all runs, in the order in which they were met; an empty one where there is none.
std::vector<std::string> DeviceIds(const std::vector<RepeatFigures>& repeats) {
  std::vector<std::string> ids;
  for (const RepeatFigures& repeat : repeats) {
    for (const DeviceFigures& device : repeat.devices) {
      if (std::find(ids.begin(), ids.end(), device.id) == ids.end()) ids.push_back(device.id);
    }
  }
  if (ids.empty()) ids.emplace_back();
  return ids;
}

}  // namespace

std::vector<std::string> CoverageGaps(const Spec& spec) {
  std::vector<std::string> gaps;
  for (const auto& [name, maximum] : spec.maximum) {
    const std::optional<double> measured = NumberOf(spec, name);
    const auto words = [](double value) {
      return value == std::floor(value) && std::abs(value) < 1e15 ? FormatCount(static_cast<uint64_t>(value))
                                                                  : fmt::format("{:g}", value);
    };
    if (!measured) {
      gaps.push_back(fmt::format("Of {} the value that was measured is not a number.", name));
    } else if (*measured < maximum) {
      gaps.push_back(fmt::format("You measured {} of {} {}.", words(std::max(0.0, *measured)), words(maximum), name));
    }
  }
  return gaps;
}

std::vector<Check> Judge(const Spec& spec, const std::vector<RepeatFigures>& repeats) {
  const LimitsSpec& limits = spec.limits;
  std::vector<Check> checks = {Errors(spec, repeats)};
  if (!spec.maximum.empty()) checks.push_back(Coverage(spec));
  const auto device = [&](const char* name, Measured DeviceFigures::*member, std::optional<uint64_t> limit_bytes,
                          bool by_framework, std::string_view what) {
    if (!limit_bytes) return;
    const Worst worst = WorstDevice(repeats, member, by_framework);
    checks.push_back(UpperLimit(name, "bytes", worst, static_cast<double>(*limit_bytes), what));
    if (checks.back().verdict == Verdict::kPass) checks.back().text += " " + worst.figure.basis;
  };
  const auto figure = [&](const char* name, const char* unit, Measured RepeatFigures::*member,
                          std::optional<double> limit, std::string_view what) {
    if (limit) checks.push_back(UpperLimit(name, unit, WorstOf(repeats, member), *limit, what));
  };
  const auto number = [](std::optional<uint64_t> count) {
    return count ? std::optional(static_cast<double>(*count)) : std::nullopt;
  };
  device("device_peak", &DeviceFigures::used_bytes, limits.device_peak_bytes, false, "The peak");
  device("framework_peak", &DeviceFigures::framework_bytes, limits.framework_peak_bytes, true, "The framework's peak");
  figure("host_peak", "bytes", &RepeatFigures::host_bytes, number(limits.host_peak_bytes), "The peak of host memory");
  figure("time", "s", &RepeatFigures::run_time_s, limits.run_time_s, "The time of a run");
  figure("time", "s", &RepeatFigures::iteration_time_s, limits.iteration_time_s, "The time of an iteration");
  if (limits.throughput_per_s) checks.push_back(Throughput(spec, WorstOf(repeats, &RepeatFigures::iteration_time_s)));
  figure("allocator_retries", "count", &RepeatFigures::retry_count, number(limits.allocator_retry_count),
         "The count of allocator retries");
  if (limits.growth_bytes) checks.push_back(Growth(spec, repeats));
  figure("host_growth", "bytes", &RepeatFigures::host_growth_bytes, number(limits.host_growth_bytes),
         "The growth of the process per iteration");
  if (spec.margin.is_asked) {
    for (const std::string& id : DeviceIds(repeats)) checks.push_back(MarginOfDevice(spec, repeats, id));
  }
  if (spec.quality.IsAsked()) checks.push_back(Quality(spec.quality, repeats));
  return checks;
}

Verdict Overall(const std::vector<Check>& checks) {
  Verdict verdict = Verdict::kPass;
  for (const Check& check : checks) verdict = Both(verdict, check.verdict);
  return verdict;
}

}  // namespace memstrata::accept
