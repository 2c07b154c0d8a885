#include "plan/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plan/outside.h"
#include "plan/plan.h"
#include "plan/toml_table.h"

namespace memstrata::plan {
namespace {

constexpr std::string_view kSchema = "memstrata.plan_profile/1";
constexpr int64_t kSessionsForBounds = 3;
constexpr double kLargestOffset = 0x1p50;
constexpr double kLargestRatio = 16;
// Built-in constants that bound a peak, each of one kind of plan.
constexpr std::string_view kPeakConstants[] = {
    "simulated_peak", "simulated_adapter_peak", "simulated_expert_peak", "dense_peak",
    "expert_peak",    "encoder_decoder_peak",   "inference_peak"};

Constant SpreadOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {values.front(), median, values.back(), "", ""};
}

std::string ConstantToml(std::string_view name, const Constant& constant) {
  return fmt::format("\n[{}]\nlow = {}\nbest = {}\nhigh = {}\nhow = \"{}\"\n", name, constant.low, constant.best,
                     constant.high, constant.how);
}

Result<Constant> ReadConstant(const TomlTable& document, const std::string& name, double least, double most) {
  const auto found = document.tables.find(name);
  if (found == document.tables.end())
    return Fail(ErrorCode::kCorruptInput, fmt::format("The profile lacks [{}].", name));
  const TomlTable& table = found->second;
  Constant constant{table.Number("low"), table.Number("best"), table.Number("high"), table.Text("how"), ""};
  const bool is_ordered = constant.low <= constant.best && constant.best <= constant.high;
  if (!is_ordered || !(constant.low >= least) || !(constant.high <= most)) {
    return Fail(
        ErrorCode::kCorruptInput,
        fmt::format("[{}] of the profile needs low, best and high in this order, from {} to {}.", name, least, most));
  }
  return constant;
}

uint64_t Moved(uint64_t bytes, double by) {
  return static_cast<uint64_t>(std::max(0.0, static_cast<double>(bytes) + by));
}

void CorrectReserved(const Profile& profile, DevicePlan& device) {
  if (!profile.reserved_per_allocated) return;
  const Constant& ratio = *profile.reserved_per_allocated;
  const auto beyond = [&](double each) {
    return static_cast<uint64_t>(static_cast<double>(device.framework_peak_bytes) * std::max(0.0, each - 1));
  };
  device.framework_reserved_bytes = device.framework_peak_bytes + beyond(ratio.best);
  for (Line& line : device.lines) {
    if (line.term != "fragmentation") continue;
    line.bytes = beyond(ratio.best);
    line.low_bytes = beyond(ratio.low);
    line.high_bytes = beyond(ratio.high);
    line.basis = Basis::kMeasured;
    line.how = fmt::format("{:.4f} bytes reserved for each allocated one", ratio.best);
    line.source = profile.name;
  }
}

// Slope of the corrections over the working bytes; nothing when these are too few or too alike to tell.
std::optional<double> WorkingSlope(const std::vector<CalibrationSample>& samples) {
  constexpr double kLeastSpread = 1.5;
  if (samples.size() < static_cast<size_t>(kSessionsForBounds)) return std::nullopt;
  const auto less = [](const CalibrationSample& a, const CalibrationSample& b) {
    return a.working_bytes < b.working_bytes;
  };
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end(), less);
  if (static_cast<double>(most->working_bytes) < kLeastSpread * static_cast<double>(least->working_bytes) ||
      most->working_bytes == 0)
    return std::nullopt;
  const auto count = static_cast<double>(samples.size());
  double mean_working = 0;
  double mean_correction = 0;
  for (const CalibrationSample& sample : samples) {
    mean_working += static_cast<double>(sample.working_bytes) / count;
    mean_correction += static_cast<double>(sample.CorrectionBytes()) / count;
  }
  double product = 0;
  double square = 0;
  for (const CalibrationSample& sample : samples) {
    const double distance = static_cast<double>(sample.working_bytes) - mean_working;
    product += distance * (static_cast<double>(sample.CorrectionBytes()) - mean_correction);
    square += distance * distance;
  }
  return std::clamp(product / square, -kLargestRatio, kLargestRatio);
}

// Measured peaks to planned ones, after the correction that the sessions gave.
void FitPeakRatio(const std::vector<CalibrationSample>& samples, Profile& profile) {
  const std::string& name = samples.front().peak_constant;
  const bool is_one_kind = std::all_of(samples.begin(), samples.end(),
                                       [&](const CalibrationSample& sample) { return sample.peak_constant == name; });
  if (name.empty() || !is_one_kind) return;
  const double working = profile.working_share ? profile.working_share->best : 0;
  std::vector<double> ratios;
  for (const CalibrationSample& sample : samples) {
    const double correction =
        std::max(0.0, profile.peak_offset_bytes.best + working * static_cast<double>(sample.working_bytes));
    ratios.push_back(static_cast<double>(sample.measured_peak_bytes) /
                     (static_cast<double>(sample.planned_peak_bytes) + correction));
  }
  profile.peak_constant = name;
  profile.peak_ratio = SpreadOf(std::move(ratios));
  profile.peak_ratio->how = fmt::format(
      "Measured to planned and corrected peak, in the place of the built-in constant: smallest, median and largest of "
      "{} sessions.",
      samples.size());
}

// Bounds of an offset in bytes for sizes as were recorded, and of a ratio for others: the wider of both.
void BoundPeak(const Profile& profile, const Constant& offset, DevicePlan& device) {
  const double best = std::max(0.0, offset.best);
  uint64_t low = Moved(device.framework_peak_bytes, std::min(offset.low, best));
  uint64_t high = Moved(device.framework_peak_bytes, std::max(offset.high, best));
  if (profile.peak_ratio && profile.peak_constant == device.peak_spread) {
    const double corrected = static_cast<double>(device.framework_peak_bytes) + best;
    low = std::min(low, static_cast<uint64_t>(corrected * std::min(1.0, profile.peak_ratio->low)));
    high = std::max(high, static_cast<uint64_t>(corrected * std::max(1.0, profile.peak_ratio->high)));
  }
  device.framework_peak_low_bytes = low;
  device.framework_peak_high_bytes = high;
}

// Fewer runs than tell bounds have those of the built-in constant around them.
void FitProcesses(const std::vector<CalibrationSample>& samples, Profile& profile) {
  for (const ProcessConstant& constant : kProcessConstants) {
    std::vector<double> values;
    for (const CalibrationSample& sample : samples) {
      if (sample.*constant.measured) values.push_back(static_cast<double>(*(sample.*constant.measured)));
    }
    if (values.empty()) continue;
    const size_t count = values.size();
    Constant fitted = SpreadOf(std::move(values));
    fitted.how = fmt::format("{}: smallest, median and largest of {} measured run(s).", constant.what, count);
    if (static_cast<int64_t>(count) < kSessionsForBounds) {
      const Constant& usual = GetConstant(constant.name);
      fitted.low *= usual.low / usual.best;
      fitted.high *= usual.high / usual.best;
      fitted.how =
          fmt::format("{}: median of {} measured run(s), within the built-in constant's bounds.", constant.what, count);
    }
    profile.*constant.fitted = std::move(fitted);
  }
}

}  // namespace

uint64_t WorkingBytes(const DevicePlan& device) {
  uint64_t bytes = 0;
  for (const Line& line : device.lines) {
    if (!line.is_persistent && !IsOutside(line)) bytes += line.bytes;
  }
  return bytes;
}

Profile FitProfile(const std::vector<CalibrationSample>& samples) {
  Profile profile;
  profile.session_count = static_cast<int64_t>(samples.size());
  const std::optional<double> slope = WorkingSlope(samples);
  if (slope) {
    profile.working_share = Constant{*slope, *slope, *slope,
                                     fmt::format("Measured minus planned for each byte that comes and goes: least "
                                                 "squares of {} sessions.",
                                                 samples.size()),
                                     ""};
  }
  std::vector<double> offsets;
  std::vector<double> ratios;
  for (const CalibrationSample& sample : samples) {
    offsets.push_back(static_cast<double>(sample.CorrectionBytes()) -
                      slope.value_or(0) * static_cast<double>(sample.working_bytes));
    if (sample.reserved_peak_bytes && sample.measured_peak_bytes > 0) {
      ratios.push_back(static_cast<double>(*sample.reserved_peak_bytes) /
                       static_cast<double>(sample.measured_peak_bytes));
    }
  }
  profile.peak_offset_bytes = SpreadOf(std::move(offsets));
  profile.peak_offset_bytes.how = fmt::format(
      "Measured minus planned peak of the framework: smallest, median and largest of {} sessions.", samples.size());
  FitPeakRatio(samples, profile);
  FitProcesses(samples, profile);
  if (ratios.empty()) return profile;
  profile.reserved_per_allocated = SpreadOf(ratios);
  profile.reserved_per_allocated->how =
      fmt::format("Highest reserved for each highest allocated byte: the same of {} sessions.", ratios.size());
  return profile;
}

std::string ProfileToml(const Profile& profile) {
  std::string text = fmt::format(
      "# Written by `memstrata plan calibrate`; used by `memstrata plan --profile`.\n"
      "schema = \"{}\"\nengine = {}\nengine_version = {}\ndevice = {}\nsessions = {}\n",
      kSchema, QuoteToml(profile.engine), QuoteToml(profile.engine_version), QuoteToml(profile.device),
      profile.session_count);
  text += ConstantToml("peak_offset_bytes", profile.peak_offset_bytes);
  if (profile.working_share) text += ConstantToml("working_share", *profile.working_share);
  if (profile.peak_ratio) text += ConstantToml(profile.peak_constant, *profile.peak_ratio);
  if (profile.reserved_per_allocated) text += ConstantToml("reserved_per_allocated", *profile.reserved_per_allocated);
  for (const ProcessConstant& constant : kProcessConstants) {
    if (profile.*constant.fitted) text += ConstantToml(constant.name, *(profile.*constant.fitted));
  }
  return text;
}

Result<Profile> ParseProfile(std::string_view toml_text, std::string name) {
  MEMSTRATA_ASSIGN_OR_RETURN(const TomlTable document, ParseToml(toml_text));
  if (document.Text("schema") != kSchema)
    return Fail(ErrorCode::kCorruptInput, fmt::format("The file is no profile: its schema is not {}.", kSchema));
  Profile profile;
  profile.name = std::move(name);
  profile.engine = document.Text("engine");
  profile.engine_version = document.Text("engine_version");
  profile.device = document.Text("device");
  profile.session_count = static_cast<int64_t>(std::clamp(document.Number("sessions"), 0.0, 1e6));
  if (profile.engine.empty() || profile.session_count < 1)
    return Fail(ErrorCode::kCorruptInput, "The profile does not say its engine or its number of sessions.");
  MEMSTRATA_ASSIGN_OR_RETURN(profile.peak_offset_bytes,
                             ReadConstant(document, "peak_offset_bytes", -kLargestOffset, kLargestOffset));
  if (document.tables.contains("working_share")) {
    MEMSTRATA_ASSIGN_OR_RETURN(profile.working_share,
                               ReadConstant(document, "working_share", -kLargestRatio, kLargestRatio));
  }
  for (const std::string_view name : kPeakConstants) {
    if (!document.tables.contains(std::string(name))) continue;
    profile.peak_constant = name;
    MEMSTRATA_ASSIGN_OR_RETURN(profile.peak_ratio,
                               ReadConstant(document, profile.peak_constant, 1 / kLargestRatio, kLargestRatio));
  }
  if (document.tables.contains("reserved_per_allocated")) {
    MEMSTRATA_ASSIGN_OR_RETURN(profile.reserved_per_allocated,
                               ReadConstant(document, "reserved_per_allocated", 1, kLargestRatio));
  }
  for (const ProcessConstant& constant : kProcessConstants) {
    const std::string name(constant.name);
    if (!document.tables.contains(name)) continue;
    MEMSTRATA_ASSIGN_OR_RETURN(profile.*constant.fitted, ReadConstant(document, name, 0, kLargestOffset));
  }
  return profile;
}

void ApplyProfile(const Profile& profile, DevicePlan& device) {
  Constant offset = profile.peak_offset_bytes;
  if (profile.working_share) {
    const double working = profile.working_share->best * static_cast<double>(WorkingBytes(device));
    offset.low += working;
    offset.best += working;
    offset.high += working;
    offset.how = fmt::format("{:.0f} B, and {:.4f} B for each byte that comes and goes", profile.peak_offset_bytes.best,
                             profile.working_share->best);
  }
  const bool has_bounds = profile.session_count >= kSessionsForBounds;
  const double best = std::max(0.0, offset.best);
  if (has_bounds) {
    BoundPeak(profile, offset, device);
  } else {
    device.framework_peak_low_bytes = Moved(device.framework_peak_low_bytes, std::min(offset.best, best));
    device.framework_peak_high_bytes = Moved(device.framework_peak_high_bytes, best);
  }
  device.framework_peak_bytes = Moved(device.framework_peak_bytes, best);
  device.framework_reserved_bytes = Moved(device.framework_reserved_bytes, best);
  device.peak_spread = "profile";
  device.simulation_fits.reset();  // the simulated allocator did not hold what is corrected here
  if (best > 0) {
    const auto bytes = static_cast<uint64_t>(best);
    device.lines.push_back({"calibration", bytes, has_bounds ? Moved(0, std::min(offset.low, best)) : bytes,
                            has_bounds ? Moved(0, std::max(offset.high, best)) : bytes, Basis::kMeasured, offset.how,
                            profile.name, false, "profile"});
  }
  CorrectReserved(profile, device);
}

}  // namespace memstrata::plan
