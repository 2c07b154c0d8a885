#pragma once
// What recordings of real runs correct in a plan: constants of one engine, version and device, fitted by
// `memstrata plan calibrate` and named as their source by the plans that use them.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/constants.h"

namespace memstrata::plan {

struct DevicePlan;

struct Profile {
  std::string engine;
  std::string engine_version;  // empty: not known
  std::string device;
  int64_t session_count = 0;
  Constant peak_offset_bytes;             // measured - planned peak of the framework; may be negative
  std::optional<Constant> working_share;  // and for each byte that comes and goes; nothing when sessions are too alike
  /// The built-in constant of that name, fitted anew: the measured peak to the one planned and corrected. Bounds a plan
  /// that the same constant bounds; nothing when the sessions are of several kinds.
  std::string peak_constant;
  std::optional<Constant> peak_ratio;
  std::optional<Constant> reserved_per_allocated;  // nothing when no recording tells what was reserved
  /// Built-in constants in their own names, fitted anew where sessions are of measured runs: of a process on its device
  /// beside its framework and its communicators, and of one in host memory beside what the plan names there.
  std::optional<Constant> workload_context_bytes;
  std::optional<Constant> host_process_bytes;
  std::string name;  // the file that it was read from
};

/// One recording beside its plan.
struct CalibrationSample {
  std::string recording;
  uint64_t planned_peak_bytes = 0;
  uint64_t measured_peak_bytes = 0;
  std::optional<uint64_t> reserved_peak_bytes;
  uint64_t working_bytes = 0;  // of the planned peak, what comes and goes
  std::string peak_constant;   // the built-in constant that bounds the plan, empty: none does
  /// Of measured runs alone, as the profile's constants of these names.
  std::optional<uint64_t> workload_context_bytes;
  std::optional<uint64_t> host_process_bytes;

  int64_t CorrectionBytes() const {
    return static_cast<int64_t>(measured_peak_bytes) - static_cast<int64_t>(planned_peak_bytes);
  }
};

/// A constant of one process that a measured run tells.
struct ProcessConstant {
  std::string_view name;
  std::optional<Constant> Profile::*fitted;
  std::optional<uint64_t> CalibrationSample::*measured;
  std::string_view what;
};
inline constexpr ProcessConstant kProcessConstants[] = {
    {"workload_context_bytes", &Profile::workload_context_bytes, &CalibrationSample::workload_context_bytes,
     "Device memory of a process beside its framework and its communicators"},
    {"host_process_bytes", &Profile::host_process_bytes, &CalibrationSample::host_process_bytes,
     "Host memory of a process beside the plan's other lines, where the host holds most"},
};

/// Lines inside the framework's peak that do not stay.
uint64_t WorkingBytes(const DevicePlan& device);

/// Smallest, median and largest of the samples; at least one. Three and more whose working bytes differ by half also
/// give what goes with these: a line of least squares, of which the offset is what stays.
Profile FitProfile(const std::vector<CalibrationSample>& samples);

/// TOML with the schema memstrata.plan_profile/1.
std::string ProfileToml(const Profile& profile);
/// kCorruptInput names what is missing or out of range.
Result<Profile> ParseProfile(std::string_view toml_text, std::string name);

/// Corrects the framework's peak, its bounds and what it reserves. Bounds of fewer than three sessions are the plan's
/// own around the corrected figure. A negative correction lowers the low bound only: a plan is never made smaller by
/// runs that may have needed less than they could.
void ApplyProfile(const Profile& profile, DevicePlan& device);

}  // namespace memstrata::plan
