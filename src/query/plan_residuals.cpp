#include "query/plan_residuals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "query/summary.h"

namespace memstrata {
namespace {

constexpr size_t kMostCategories = 64;

// Terms of a plan by the category of a recording that they are.
constexpr std::pair<std::string_view, std::string_view> kTermsByCategory[] = {{"parameter", "weights"},
                                                                              {"parameter", "draft_weights"},
                                                                              {"parameter", "load_copy"},
                                                                              {"buffer", "buffers"},
                                                                              {"gradient", "gradients"},
                                                                              {"optimizer_state", "optimizer"},
                                                                              {"activation", "activations"},
                                                                              {"activation", "recomputed_layer"},
                                                                              {"activation", "vision"},
                                                                              {"activation", "gathered_head_input"},
                                                                              {"autocast_copy", "autocast"},
                                                                              {"logits", "logits"},
                                                                              {"temporary", "forward_transient"},
                                                                              {"temporary", "backward_transient"},
                                                                              {"temporary", "optimizer_transient"},
                                                                              {"temporary", "unpacked"},
                                                                              {"input", "inputs"},
                                                                              {"kv_cache", "kv_cache"},
                                                                              {"kv_cache", "draft_kv_cache"},
                                                                              {"workspace", "workspace"},
                                                                              {"communication", "communication"}};

std::optional<uint64_t> Of(const MeasuredPeak& peak, const std::string& category) {
  const auto found = peak.bytes_by_category.find(category);
  if (found == peak.bytes_by_category.end()) return std::nullopt;
  return found->second;
}

// A ratio that is within a hundredth of a whole number.
bool IsNear(double ratio, double whole) { return std::abs(ratio - whole) <= 0.01 * whole; }

std::string PrecisionOf(const MeasuredPeak& peak, const plan::PlanRequest& request) {
  const std::optional<uint64_t> parameters = Of(peak, "parameter");
  if (!parameters || request.model.parameter_count == 0) return "";
  const double each = static_cast<double>(*parameters) / static_cast<double>(request.model.parameter_count);
  if (IsNear(each, 2)) return "bf16";
  if (!IsNear(each, 4)) return "";
  return Of(peak, "autocast_copy").value_or(0) > 0 ? "bf16_autocast" : "fp32";
}

std::string OptimizerOf(const MeasuredPeak& peak) {
  const std::optional<uint64_t> parameters = Of(peak, "parameter");
  const std::optional<uint64_t> states = Of(peak, "optimizer_state");
  if (!parameters || !states || *parameters == 0) return "";
  const double ratio = static_cast<double>(*states) / static_cast<double>(*parameters);
  return IsNear(ratio, 2) ? "adamw" : IsNear(ratio, 1) ? "sgd_momentum" : "";
}

}  // namespace

Result<MeasuredPeak> MeasurePeak(const Store& store) {
  SummaryOptions options;
  options.by = HolderKey::kCategory;
  options.top_count = kMostCategories;
  MEMSTRATA_ASSIGN_OR_RETURN(const SummaryAnswer summary, Summarize(store, options));
  const auto highest = std::max_element(
      summary.heaps.begin(), summary.heaps.end(),
      [](const HeapSummary& a, const HeapSummary& b) { return a.live_peak.bytes < b.live_peak.bytes; });
  if (highest == summary.heaps.end()) return Fail(ErrorCode::kNotFound, "The recording has no heap to compare with.");
  MeasuredPeak peak;
  peak.heap = highest->heap->id;
  if (highest->heap->capacity_bytes != kUnknownBytes) peak.capacity_bytes = highest->heap->capacity_bytes;
  for (const Holder& holder : highest->holders) peak.bytes_by_category[holder.name] += holder.bytes;
  if (highest->block_peak) peak.allocated_bytes = highest->block_peak->bytes;
  if (highest->reserved_peak) peak.reserved_bytes = highest->reserved_peak->bytes;
  const LowerBoundReason reason = highest->heap->lower_bound;
  peak.has_gaps = reason != LowerBoundReason::kExact && reason != LowerBoundReason::kLateStart;
  if (highest->is_lower_bound) peak.lower_bound_reason = highest->lower_bound_reason;
  return peak;
}

std::vector<std::pair<std::string, std::string>> FillFromRecording(const MeasuredPeak& peak,
                                                                   plan::PlanRequest& request) {
  std::vector<std::pair<std::string, std::string>> filled;
  const auto fill = [&](const char* input, const std::string& value) {
    if (value.empty() || request.workload.given.contains(input)) return;
    if (plan::SetInput(request.workload, input, value)) filled.emplace_back(input, value);
  };
  fill("precision", PrecisionOf(peak, request));
  fill("optimizer", OptimizerOf(peak));
  if (!request.card && peak.capacity_bytes) {
    const std::string capacity = std::to_string(*peak.capacity_bytes);
    if (Result<plan::Card> card = plan::FindCard(capacity)) {
      request.card = std::move(*card);
      filled.emplace_back("card", capacity);
    }
  }
  return filled;
}

std::vector<std::string> UntoldInputs(const plan::Workload& workload) {
  std::vector<std::string> untold;
  for (const char* input : {"batch", "sequence", "recompute"}) {
    if (!workload.given.contains(input)) untold.emplace_back(input);
  }
  return untold;
}

std::optional<int64_t> PlanResidual::DifferenceBytes() const {
  if (!planned_bytes || !measured_bytes) return std::nullopt;
  return static_cast<int64_t>(*planned_bytes) - static_cast<int64_t>(*measured_bytes);
}

std::vector<PlanResidual> FindResiduals(const plan::Plan& plan, const MeasuredPeak& peak) {
  const plan::DevicePlan& device = plan.WorstDevice();
  std::map<std::string, uint64_t> planned;
  for (const plan::Line& line : device.lines) {
    for (const auto& [category, term] : kTermsByCategory) {
      if (line.term == term) planned[std::string(category)] += line.bytes;
    }
  }
  std::vector<PlanResidual> residuals;
  for (const auto& [category, bytes] : planned) residuals.push_back({category, bytes, Of(peak, category)});
  for (const auto& [category, bytes] : peak.bytes_by_category) {
    if (!planned.contains(category)) residuals.push_back({category, std::nullopt, bytes});
  }
  residuals.push_back({"framework_peak", device.framework_peak_bytes, peak.allocated_bytes});
  residuals.push_back({"framework_reserved", device.framework_reserved_bytes, peak.reserved_bytes});
  return residuals;
}

}  // namespace memstrata
