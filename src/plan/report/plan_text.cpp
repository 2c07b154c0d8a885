#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.h"
#include "plan/kv_cache.h"
#include "plan/report/investigation.h"
#include "plan/report/plan_report.h"
#include "plan/report/used_inputs.h"

namespace memstrata::plan {
namespace {

constexpr size_t kBarWidth = 40;

std::string LineText(const Line& line) {
  const std::string changed_by = line.changed_by.empty() ? "" : fmt::format(" [{}]", line.changed_by);
  return fmt::format("  {:<19} {:>10}  {:>10} .. {:<10} {:<8} {}  {}{}\n", line.term, FormatBytes(line.bytes),
                     FormatBytes(line.low_bytes), FormatBytes(line.high_bytes), Name(line.basis),
                     line.is_persistent ? "stays" : "works", line.how, changed_by);
}

// Where to look, once for all terms that are looked into alike.
std::string InvestigationsText(const Plan& plan) {
  std::vector<std::pair<std::string_view, std::string>> hints;
  for (const std::vector<Line>* lines : {&plan.WorstDevice().lines, &plan.host_lines}) {
    for (const Line& line : *lines) {
      const std::string_view hint = InvestigationOf(line.term);
      if (hint.empty() || line.bytes == 0) continue;
      const auto same =
          std::find_if(hints.begin(), hints.end(), [&](const auto& entry) { return entry.first == hint; });
      if (same == hints.end()) {
        hints.emplace_back(hint, line.term);
      } else {
        same->second += ", " + line.term;
      }
    }
  }
  std::string text;
  for (const auto& [hint, terms] : hints) text += fmt::format("  - {}: {}\n", terms, hint);
  return text.empty() ? "" : "To look into a line:\n" + text;
}

std::string LinesText(const std::vector<Line>& lines) {
  std::string text = fmt::format("  {:<19} {:>10}  {:>10} .. {:<10} {:<8} {}\n", "term", "best", "low", "high", "basis",
                                 "kind   how [changed by]");
  for (const Line& line : lines) text += LineText(line);
  return text;
}

std::string DeviceText(const DevicePlan& device, bool names_stage) {
  std::string text =
      names_stage ? fmt::format("\nDevice of stage {} (rank {})\n", device.stage, device.rank) : "\nDevice\n";
  text += LinesText(device.lines);
  text += fmt::format("  {:<19} {:>10}  {:>10} .. {:<10}\n", "total", FormatBytes(device.total_bytes),
                      FormatBytes(device.low_bytes), FormatBytes(device.high_bytes));
  if (device.framework_peak_bytes == 0) return text;
  text += fmt::format("  framework peak {} (allocated)", FormatBytes(device.framework_peak_bytes));
  if (!device.peak_phase.empty()) text += fmt::format(", in {}", device.peak_phase);
  for (const auto& [phase, bytes] : device.phase_peaks) text += fmt::format("; {} {}", phase, FormatBytes(bytes));
  return text + "\n";
}

std::string InputsText(const Plan& plan) {
  const Workload& workload = plan.workload;
  std::string given;
  std::string assumed;
  for (const auto& [name, value] : EffectiveInputs(workload)) {
    if (!IsUsed(plan, name)) continue;
    std::string& text = workload.given.contains(name) ? given : assumed;
    text += fmt::format("{}{}={}", text.empty() ? "" : "  ", name,
                        name == "parallel" ? DegreesText(workload.parallel) : value);
  }
  return fmt::format("Given: {}\nAssumed: {}\n", given.empty() ? "nothing" : given,
                     assumed.empty() ? "nothing" : assumed);
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
  const bool is_model = plan.model.parameter_count > 0;
  if (is_model) text += InputsText(plan);
  for (const DevicePlan& device : plan.devices) text += DeviceText(device, plan.devices.size() > 1);
  if (!plan.host_lines.empty())
    text += "\nHost\n" + LinesText(plan.host_lines) +
            fmt::format("  {:<19} {:>10}\n  {} CPU core(s): one for each process and each data worker\n", "total",
                        FormatBytes(plan.host_total_bytes), plan.cpu_cores);
  if (!plan.storage_lines.empty()) text += "\nStorage\n" + LinesText(plan.storage_lines);
  text += "\n";
  if (!plan.verdict.empty()) text += plan.verdict + "\n";
  if (plan.target && plan.target->card.vendor_bytes > plan.target->card.visible_bytes) {
    text += fmt::format("{}: {} by the data sheet, {} as frameworks see it.\n", plan.target->card.name,
                        FormatBytes(plan.target->card.vendor_bytes), FormatBytes(plan.target->card.visible_bytes));
  }
  if (plan.kv_tokens)
    text += fmt::format("The cache of {} holds {} tokens{}.\n",
                        plan.workload.parallel.data > 1 ? "each replica" : "the service",
                        FormatCount(static_cast<uint64_t>(*plan.kv_tokens)),
                        HasOneKind(plan.model.cache) ? "" : fmt::format(" of sequences of {}", plan.workload.sequence));
  text += LargestText(plan.largest);
  text += StrategiesText(plan);
  text += ListText("What to change first:", plan.changes);
  text += ListText("Left out:", plan.left_out);
  text += InvestigationsText(plan);
  for (const Diagnostic& diagnostic : plan.diagnostics)
    text += fmt::format("{}: {}\n", diagnostic.severity, diagnostic.text);
  return text;
}

std::string RankingText(const std::vector<Plan>& plans) {
  std::string text =
      fmt::format("{:<14} {:>7} {:>10} {:>10} {:>11}  {}\n", "card", "devices", "sees", "needs", "margin", "answer");
  for (const Plan& plan : plans) {
    if (!plan.target) continue;
    const Parallel& parallel = plan.workload.parallel;
    text += fmt::format("{:<14} {:>7} {:>10} {:>10} {:>11}  {}\n", plan.target->card.id, parallel.DeviceCount(),
                        FormatBytes(plan.target->card.visible_bytes), FormatBytes(plan.WorstDevice().total_bytes),
                        FormatBytes(plan.target->margin_bytes), plan.verdict);
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

namespace {

std::string FormatsOf(const Card& card) { return fmt::format("{}", fmt::join(card.formats, " ")); }

}  // namespace

std::string SheetText(const std::vector<Plan>& plans) {
  const Plan& first = plans.front();
  std::string text = fmt::format("Purchase sheet: {}, {}\n\n", first.model.name, Name(first.workload.task));
  text += InputsText(first) + "\n";
  size_t width = 0;
  for (const Plan& plan : plans) width = std::max(width, plan.target ? FormatsOf(plan.target->card).size() : 0);
  text += fmt::format("{:<14} {:>7} {:>10} {:>10} {:>10} {:>11}  {:<{}}  {:<14} {}\n", "card", "devices", "sheet says",
                      "visible", "usable", "margin", "formats", width, "from", "answer");
  for (const Plan& plan : plans) {
    if (!plan.target) continue;
    const Card& card = plan.target->card;
    text += fmt::format(
        "{:<14} {:>7} {:>10} {:>10} {:>10} {:>11}  {:<{}}  {:<14} {}\n", card.id, plan.workload.parallel.DeviceCount(),
        FormatBytes(card.vendor_bytes), FormatBytes(card.visible_bytes), FormatBytes(plan.target->usable_bytes),
        FormatBytes(plan.target->margin_bytes), FormatsOf(card), width, card.least_driver, plan.verdict);
  }
  text += fmt::format("\nNeed of one device: {} (from {} to {}). The margin is against the best figure.\n",
                      FormatBytes(first.WorstDevice().total_bytes), FormatBytes(first.WorstDevice().low_bytes),
                      FormatBytes(first.WorstDevice().high_bytes));
  text += fmt::format("Host memory: {}\nCPU cores: {}\n", FormatBytes(first.host_total_bytes), first.cpu_cores);
  for (const Line& line : first.storage_lines)
    text += fmt::format("Disk, {}: {} ({})\n", line.term, FormatBytes(line.bytes), line.how);
  text += ListText("Left out:", first.left_out);
  return text +
         "Acceptance on delivery:\n  - memory that the framework reports equals the visible figure above\n  - one "
         "representative run stays below the high figure\n"
         "  - no error and no allocator retry in the run\n  - output quality equals the reference's\n";
}

}  // namespace memstrata::plan
