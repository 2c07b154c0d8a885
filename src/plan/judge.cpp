#include "plan/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "plan/advice.h"
#include "plan/constants.h"

namespace memstrata::plan {
namespace {

// Vendors that an engine's own documentation names. An unknown card is not judged.
bool RunsOn(Engine engine, std::string_view vendor) {
  if (vendor.empty() || vendor == "nvidia") return true;
  switch (engine) {
    case Engine::kTorch:
    case Engine::kLlamaCpp:
      return vendor != "google";
    case Engine::kTorchtitan:
    case Engine::kMegatron:
    case Engine::kSglang:
      return vendor == "amd";
    case Engine::kDeepSpeed:
      return vendor == "amd" || vendor == "intel";
    case Engine::kVllm:
      return vendor != "apple";
    case Engine::kJax:
      return vendor == "amd" || vendor == "google";
  }
  return true;
}

// A serving engine captures its graphs after its share is given away, so they are beside it.
uint64_t BesideShare(const PlanRequest& request, const DevicePlan& device) {
  uint64_t bytes = 0;
  if (!TakesShare(request.workload)) return bytes;
  for (const Line& line : device.lines) bytes += line.term == "graphs" ? line.bytes : 0;
  return bytes;
}

// The card, and how many of them the process uses where that is fewer than there are.
std::string CardText(const PlanRequest& request) {
  const int64_t used = request.workload.parallel.DeviceCount();
  if (request.workload.devices <= used) return request.card->name;
  return fmt::format("{} (the process as it is uses {} of these {})", request.card->name, used,
                     request.workload.devices);
}

std::string ShareText(const PlanRequest& request) {
  if (request.card->visible_bytes == UsableBytes(request)) return "";
  return fmt::format(" of the {} that the engine takes", FormatBytes(UsableBytes(request)));
}

std::string VerdictOf(const PlanRequest& request, const Target& target, bool has_memory, bool is_sure) {
  const std::string card = CardText(request);
  std::string obstacle;
  if (!target.runs_engine) obstacle = fmt::format("does not run {}", Name(request.workload.engine));
  if (!target.can_join)
    obstacle += fmt::format("{}cannot work with others of its kind", obstacle.empty() ? "" : " and ");
  for (const std::string& format : target.unsupported)
    obstacle += fmt::format("{}does not compute in {}", obstacle.empty() ? "" : " and ", format);
  if (!obstacle.empty() && has_memory) return fmt::format("{} has enough memory, but {}.", card, obstacle);
  if (!obstacle.empty()) return fmt::format("{} {}, and has too little memory.", card, obstacle);
  if (!has_memory) {
    return fmt::format("Does not fit on {}: {} are missing{}.", card, FormatBytes(-target.margin_bytes),
                       ShareText(request));
  }
  std::string text =
      fmt::format("Fits on {} with {} to spare{}.", card, FormatBytes(target.margin_bytes), ShareText(request));
  if (!is_sure) {
    text += fmt::format(" The margin does not cover the plan's own error: by the high figure {} are missing.",
                        FormatBytes(-target.margin_at_high_bytes));
  }
  return text;
}

}  // namespace

uint64_t UsableBytes(const PlanRequest& request) {
  const Card& card = *request.card;
  const auto share = [&card](double part) {
    return static_cast<uint64_t>(static_cast<double>(card.visible_bytes) * part);
  };
  if (TakesShare(request.workload)) return share(request.workload.memory_fraction);
  const bool is_gpu = card.vendor == "nvidia" || card.vendor == "amd";
  return request.workload.engine == Engine::kJax && is_gpu ? share(GetConstant("xla_preallocated_share").best)
                                                           : card.visible_bytes;
}

void Judge(const PlanRequest& request, Plan& plan) {
  if (!request.card) return;
  Target target;
  target.card = *request.card;
  target.usable_bytes = UsableBytes(request);
  const DevicePlan& worst = plan.WorstDevice();
  const auto margin = [&](uint64_t need_bytes) {
    return static_cast<int64_t>(target.usable_bytes + BesideShare(request, worst)) - static_cast<int64_t>(need_bytes);
  };
  target.margin_bytes = margin(worst.total_bytes);
  target.margin_at_high_bytes = margin(worst.high_bytes);
  target.unsupported = UnsupportedFormats(*request.card, plan.workload);
  target.runs_engine = RunsOn(plan.workload.engine, request.card->vendor);
  target.can_join = request.card->joins || request.workload.parallel.DeviceCount() == 1;
  const bool has_memory = worst.simulation_fits.value_or(target.margin_bytes >= 0);
  const bool is_supported = target.unsupported.empty() && target.runs_engine && target.can_join;
  plan.fits = has_memory && is_supported;
  plan.fits_at_high = *plan.fits && target.margin_at_high_bytes >= 0;
  plan.verdict = VerdictOf(request, target, has_memory, *plan.fits_at_high);
  if (!request.model.assumed_structure.empty() && is_supported && margin(worst.low_bytes) >= 0) {
    plan.fits = plan.fits_at_high = std::nullopt;
    plan.verdict = fmt::format("Cannot tell whether it fits on {}: {} By that guess it needs {}, between {} and {}.",
                               CardText(request), request.model.assumed_structure, FormatBytes(worst.total_bytes),
                               FormatBytes(worst.low_bytes), FormatBytes(worst.high_bytes));
  }
  plan.target = std::move(target);
}

}  // namespace memstrata::plan
