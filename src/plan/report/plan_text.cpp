#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "plan/report/plan_report.h"

namespace memstrata::plan {
namespace {

constexpr size_t kBarWidth = 40;

std::string LineText(const Line& line) {
  return fmt::format("  {:<19} {:>10}  {:>10} .. {:<10} {:<8} {}  {}\n", line.term, FormatBytes(line.bytes),
                     FormatBytes(line.low_bytes), FormatBytes(line.high_bytes), Name(line.basis),
                     line.is_persistent ? "stays" : "works", line.how);
}

std::string LinesText(const std::vector<Line>& lines) {
  std::string text =
      fmt::format("  {:<19} {:>10}  {:>10} .. {:<10} {:<8} {}\n", "term", "best", "low", "high", "basis", "kind   how");
  for (const Line& line : lines) text += LineText(line);
  return text;
}

std::string DeviceText(const DevicePlan& device, bool names_stage) {
  std::string text =
      names_stage ? fmt::format("\nDevice of stage {} (rank {})\n", device.stage, device.rank) : "\nDevice\n";
  text += LinesText(device.lines);
  text += fmt::format("  {:<19} {:>10}  {:>10} .. {:<10}\n", "total", FormatBytes(device.total_bytes),
                      FormatBytes(device.low_bytes), FormatBytes(device.high_bytes));
  text += fmt::format("  framework peak {} (allocated)", FormatBytes(device.framework_peak_bytes));
  if (!device.peak_phase.empty()) text += fmt::format(", in {}", device.peak_phase);
  for (const auto& [phase, bytes] : device.phase_peaks) text += fmt::format("; {} {}", phase, FormatBytes(bytes));
  return text + "\n";
}

std::string InputsText(const Workload& workload) {
  std::string given;
  std::string assumed;
  for (const auto& [name, value] : EffectiveInputs(workload)) {
    std::string& text = workload.given.contains(name) ? given : assumed;
    text += fmt::format("{}{}={}", text.empty() ? "" : "  ", name, value);
  }
  return fmt::format("Given: {}\nAssumed: {}\n", given.empty() ? "nothing" : given, assumed);
}

std::string LargestText(const Largest& largest) {
  std::string text;
  const auto add = [&](const char* name, const std::optional<int64_t>& value) {
    if (value) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, *value);
  };
  add("batch", largest.batch);
  add("sequence", largest.sequence);
  add("sessions", largest.concurrency);
  return text.empty() ? "" : fmt::format("Largest that fits, all else as it is: {}\n", text);
}

std::string ListText(const char* title, const std::vector<std::string>& texts) {
  if (texts.empty()) return "";
  std::string text = fmt::format("{}\n", title);
  for (const std::string& item : texts) text += fmt::format("  - {}\n", item);
  return text;
}

std::string StrategiesText(const Plan& plan) {
  if (plan.strategies.empty()) return "";
  std::string text = fmt::format("Ways to spread it over all {} devices, and what the fullest one then needs:\n",
                                 plan.workload.devices);
  for (const Strategy& strategy : plan.strategies) {
    const std::string need = strategy.device_bytes ? FormatBytes(*strategy.device_bytes) : strategy.problem;
    const char* fits = !strategy.fits ? "" : *strategy.fits ? ", fits" : ", does not fit";
    text +=
        fmt::format("  - {} (--parallel {}): {}{}; {}\n", strategy.name, strategy.parallel, need, fits, strategy.cost);
  }
  return text;
}

}  // namespace

std::string PlanText(const Plan& plan) {
  std::string text = fmt::format("{}: {} parameters ({})\n", plan.model.name,
                                 FormatCount(static_cast<uint64_t>(plan.model.parameter_count)), plan.model.source);
  text += InputsText(plan.workload);
  for (const DevicePlan& device : plan.devices) text += DeviceText(device, plan.devices.size() > 1);
  if (!plan.host_lines.empty())
    text += "\nHost\n" + LinesText(plan.host_lines) +
            fmt::format("  {:<19} {:>10}\n", "total", FormatBytes(plan.host_total_bytes));
  if (!plan.storage_lines.empty()) text += "\nStorage\n" + LinesText(plan.storage_lines);
  text += "\n";
  if (!plan.verdict.empty()) text += plan.verdict + "\n";
  if (plan.target && plan.target->card.vendor_bytes > plan.target->card.visible_bytes) {
    text += fmt::format("{}: {} by the data sheet, {} as frameworks see it.\n", plan.target->card.name,
                        FormatBytes(plan.target->card.vendor_bytes), FormatBytes(plan.target->card.visible_bytes));
  }
  if (plan.kv_tokens)
    text += fmt::format("The cache of one device group holds {} tokens.\n",
                        FormatCount(static_cast<uint64_t>(*plan.kv_tokens)));
  text += LargestText(plan.largest);
  text += StrategiesText(plan);
  text += ListText("What to change first:", plan.changes);
  text += ListText("Left out:", plan.left_out);
  for (const Diagnostic& diagnostic : plan.diagnostics)
    text += fmt::format("{}: {}\n", diagnostic.severity, diagnostic.text);
  return text;
}

std::string RankingText(const std::vector<Plan>& plans) {
  std::string text = fmt::format("{:<14} {:>10} {:>10} {:>11}  {}\n", "card", "sees", "needs", "margin", "answer");
  for (const Plan& plan : plans) {
    if (!plan.target) continue;
    text +=
        fmt::format("{:<14} {:>10} {:>10} {:>11}  {}\n", plan.target->card.id, FormatBytes(plan.target->usable_bytes),
                    FormatBytes(plan.WorstDevice().total_bytes), FormatBytes(plan.target->margin_bytes), plan.verdict);
  }
  return text;
}

std::string SweepText(const Sweep& sweep) {
  uint64_t largest = 1;
  for (const SweepPoint& point : sweep.points) largest = std::max(largest, point.total_bytes);
  std::string text = fmt::format("{:<14} {:>10} {:>10}  {:<10} {}\n", sweep.input, "total", "peak", "phase", "");
  for (const SweepPoint& point : sweep.points) {
    const size_t width = static_cast<size_t>(static_cast<double>(point.total_bytes) / static_cast<double>(largest) *
                                             static_cast<double>(kBarWidth));
    text += fmt::format("{:<14} {:>10} {:>10}  {:<10} {:<{}} {}\n", point.value, FormatBytes(point.total_bytes),
                        FormatBytes(point.framework_peak_bytes), point.peak_phase, std::string(width, '#'), kBarWidth,
                        !point.fits   ? ""
                        : *point.fits ? "fits"
                                      : "does not fit");
  }
  if (sweep.break_point)
    text += fmt::format("From {} = {} on it does not fit.\n", sweep.input, sweep.points[*sweep.break_point].value);
  return text + "Batch and precision are trade-offs: check time and output quality with `memstrata accept`.\n";
}

std::string SheetText(const std::vector<Plan>& plans) {
  const Plan& first = plans.front();
  std::string text = fmt::format("Purchase sheet: {}, {}\n\n", first.model.name, Name(first.workload.task));
  text += InputsText(first.workload) + "\n";
  text += fmt::format("{:<14} {:>10} {:>10} {:>11}  {:<24} {:<12} {}\n", "card", "sheet says", "visible", "margin",
                      "formats", "from", "answer");
  for (const Plan& plan : plans) {
    if (!plan.target) continue;
    std::string formats;
    for (const std::string& format : plan.target->card.formats) formats += (formats.empty() ? "" : " ") + format;
    text += fmt::format("{:<14} {:>10} {:>10} {:>11}  {:<24} {:<12} {}\n", plan.target->card.id,
                        FormatBytes(plan.target->card.vendor_bytes), FormatBytes(plan.target->usable_bytes),
                        FormatBytes(plan.target->margin_bytes), formats, plan.target->card.least_driver, plan.verdict);
  }
  text += fmt::format("\nNeed of one device: {} (from {} to {}). The margin is against the best figure.\n",
                      FormatBytes(first.WorstDevice().total_bytes), FormatBytes(first.WorstDevice().low_bytes),
                      FormatBytes(first.WorstDevice().high_bytes));
  text += fmt::format("Host memory: {}\n", FormatBytes(first.host_total_bytes));
  for (const Line& line : first.storage_lines)
    text += fmt::format("Disk, {}: {} ({})\n", line.term, FormatBytes(line.bytes), line.how);
  text += ListText("Left out:", first.left_out);
  return text +
         "Acceptance on delivery:\n  - memory that the framework reports equals the visible figure above\n  - one "
         "representative run stays below the high figure\n"
         "  - no error and no allocator retry in the run\n  - output quality equals the reference's\n";
}

}  // namespace memstrata::plan
