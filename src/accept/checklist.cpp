#include "accept/checklist.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace memstrata::accept {
namespace {

constexpr size_t kLeastRepeats = 3;  // that teach how much a peak scatters

class Checklist {
 public:
  explicit Checklist(const Acceptance& acceptance) : a_(acceptance) {}

  std::vector<ChecklistItem> Make() {
    Workload();
    Support();
    Add("budget made", HasBudget(),
        HasBudget() ? "The limits name what may be used." : "No limit on a device or framework peak is set.");
    Peaks();
    Transients();
    Outputs();
    TimeAndErrors();
    HostCpuStorage();
    Devices();
    Margin();
    Recorded();
    return std::move(items_);
  }

 private:
  void Add(std::string_view item, bool is_done, std::string text) {
    items_.push_back({item, is_done, std::move(text)});
  }

  const Check* Find(std::string_view name) const {
    for (const Check& check : a_.checks) {
      if (check.name == name) return &check;
    }
    return nullptr;
  }
  bool Passes(std::string_view name) const {
    const Check* check = Find(name);
    return check != nullptr && check->verdict == Verdict::kPass;
  }
  bool HasBudget() const { return a_.spec.limits.device_peak_bytes || a_.spec.limits.framework_peak_bytes; }
  bool RanWell() const { return Passes("errors"); }

  // The highest of the repeats; nothing where one of them is not known.
  std::optional<double> Highest(Measured RepeatFigures::*member) const {
    std::optional<double> highest;
    for (const RepeatFigures& repeat : a_.repeats) {
      if (!(repeat.*member).value) return std::nullopt;
      highest = std::max(highest.value_or(0), *(repeat.*member).value);
    }
    return highest;
  }

  std::string BytesWords(Measured RepeatFigures::*member) const {
    const std::optional<double> bytes = Highest(member);
    return bytes ? FormatBytes(static_cast<uint64_t>(*bytes)) : "not known";
  }

  std::string WhyNoDevice() const { return a_.repeats.empty() ? "Nothing ran." : a_.repeats.front().why_no_device; }

  template <class Predicate>
  bool OnEveryDevice(Predicate&& holds) const {
    return std::all_of(a_.repeats.begin(), a_.repeats.end(), [&](const RepeatFigures& repeat) {
      return !repeat.devices.empty() && std::all_of(repeat.devices.begin(), repeat.devices.end(), holds);
    });
  }

  void Workload() {
    const std::vector<std::string> gaps = CoverageGaps(a_.spec);
    if (a_.spec.maximum.empty()) {
      Add("workload chosen and maximum stated", false, "No [maximum] of its parameters is stated.");
    } else {
      Add("workload chosen and maximum stated", gaps.empty(),
          gaps.empty() ? "The run reaches every stated maximum." : gaps.front());
    }
  }

  void Support() {
    const bool has_device = !a_.identity.devices.empty();
    // Shown by running: a framework held memory on each device, and nothing failed.
    const bool is_done = has_device && RanWell() && !a_.identity.frameworks.empty() &&
                         OnEveryDevice([](const DeviceFigures& d) { return d.framework_bytes.value.has_value(); });
    Add("architecture, driver and runtime support the formats", is_done,
        is_done
            ? fmt::format("{} ran without errors on {}.", a_.identity.frameworks.front(), a_.identity.devices.front())
        : !has_device ? WhyNoDevice()
                      : "No framework ran on every device without errors.");
  }

  void Peaks() {
    const bool both =
        OnEveryDevice([](const DeviceFigures& d) { return d.used_bytes.value && d.framework_bytes.value; });
    std::string text = "The device's and the framework's view of the peak are not both known.";
    if (both) {
      const DeviceFigures& device = a_.repeats.front().devices.front();
      text = fmt::format("{}: {} by the device, {} by the framework.", device.id,
                         FormatBytes(static_cast<uint64_t>(*device.used_bytes.value)),
                         FormatBytes(static_cast<uint64_t>(*device.framework_bytes.value)));
    }
    const bool at_maximum = !a_.spec.maximum.empty() && CoverageGaps(a_.spec).empty();
    if (both && !at_maximum) text += " The run does not show that it reaches the maximum.";
    Add("peaks at the maximum, framework and device compared", both && at_maximum, text);
  }

  void Transients() {
    const bool whole = OnEveryDevice([](const DeviceFigures& d) {
      return d.framework_bytes.value && !d.framework_bytes.is_lower_bound && !d.used_bytes.is_lower_bound;
    });
    std::string reason = WhyNoDevice();
    for (const RepeatFigures& repeat : a_.repeats) {
      for (const DeviceFigures& device : repeat.devices) {
        const Measured& weak = !device.framework_bytes.value || device.framework_bytes.is_lower_bound
                                   ? device.framework_bytes
                                   : device.used_bytes;
        reason = weak.basis;
      }
    }
    Add("transient peaks covered", whole, reason);
  }

  void Outputs() {
    const Check* check = Find("quality");
    Add("outputs verified at the chosen precision", Passes("quality"),
        check == nullptr ? "No [quality] is asked for." : check->text);
  }

  void TimeAndErrors() {
    const bool has_time = Find("time") != nullptr || Find("throughput") != nullptr;
    const bool is_done = RanWell() && (Passes("time") || Passes("throughput"));
    Add("time and errors", is_done,
        is_done    ? "Within the limits."
        : has_time ? Find("errors")->text
                   : "No limit on time or throughput is set.");
  }

  void HostCpuStorage() {
    const std::optional<double> cpu_s = Highest(&RepeatFigures::cpu_time_s);
    const bool is_done = RanWell() && cpu_s && Highest(&RepeatFigures::host_bytes) &&
                         Highest(&RepeatFigures::read_bytes) && Highest(&RepeatFigures::written_bytes);
    Add("host memory, CPU and storage", is_done,
        fmt::format("Host memory: peak {}. CPU: {}. Storage: {} read, {} written.",
                    BytesWords(&RepeatFigures::host_bytes), cpu_s ? fmt::format("{:.3g} s", *cpu_s) : "not known",
                    BytesWords(&RepeatFigures::read_bytes), BytesWords(&RepeatFigures::written_bytes)));
  }

  void Devices() {
    size_t count = 0;
    for (const RepeatFigures& repeat : a_.repeats) count = std::max(count, repeat.devices.size());
    Add("each device by itself", OnEveryDevice([](const DeviceFigures& d) { return d.used_bytes.value.has_value(); }),
        count > 0 ? fmt::format("{}, each judged alone.", FormatCount(count, "device")) : WhyNoDevice());
  }

  void Margin() {
    const Check* check = Find("margin");
    const bool is_learned = a_.spec.margin.is_asked && !a_.spec.margin.given;
    if (is_learned && Passes("margin") && a_.repeats.size() < kLeastRepeats) {
      Add("margin justified", false,
          fmt::format("{} cannot show a spread to learn it from; at least {} can.",
                      FormatCount(a_.repeats.size(), "repeat"), kLeastRepeats));
    } else {
      Add("margin justified", Passes("margin"), check == nullptr ? "No limits.margin is asked for." : check->text);
    }
  }

  void Recorded() {
    const auto is_readable = [](const InputFile& input) { return input.size_bytes.has_value(); };
    const std::vector<InputFile>& inputs = a_.identity.inputs;
    const bool is_done =
        !a_.identity.frameworks.empty() && !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), is_readable);
    Add("versions and inputs recorded", is_done,
        is_done                          ? fmt::format("{} with their hashes; {}.", FormatCount(inputs.size(), "input"),
                                                       a_.identity.frameworks.front())
        : a_.identity.frameworks.empty() ? "No framework said its version."
        : inputs.empty()                 ? "workload.inputs names no files."
                                         : "An input cannot be read.");
  }

  const Acceptance& a_;
  std::vector<ChecklistItem> items_;
};

}  // namespace

std::vector<ChecklistItem> ChecklistOf(const Acceptance& acceptance) { return Checklist(acceptance).Make(); }

}  // namespace memstrata::accept
