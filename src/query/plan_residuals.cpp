#include "query/plan_residuals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "base/units.h"
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

// A ratio that is within a tenth of a whole number: a model may have another table or head than the one planned.
bool IsNear(double ratio, double whole) { return std::abs(ratio - whole) <= 0.1 * whole; }

constexpr uint64_t kLargeBytes = uint64_t{1} << 20;
constexpr size_t kMostLargeSizes = 4096;

std::vector<uint64_t> LargeSizes(const Store& store, const Heap& heap) {
  std::set<uint64_t, std::greater<>> sizes;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    const uint64_t size = store.allocations.size_bytes[row];
    if (size >= kLargeBytes && size != kUnknownBytes && sizes.size() < kMostLargeSizes) sizes.insert(size);
  }
  return {sizes.begin(), sizes.end()};
}

// Rows of `row_bytes` that a request holds, itself or rounded up to the allocator's 512 bytes.
std::optional<int64_t> RowsOf(uint64_t size_bytes, uint64_t row_bytes) {
  constexpr uint64_t kRounding = 512;
  const uint64_t rows = size_bytes / row_bytes;
  const uint64_t exact = rows * row_bytes;
  const uint64_t rounded = (exact + kRounding - 1) / kRounding * kRounding;
  if (rows == 0 || (size_bytes != exact && size_bytes != rounded)) return std::nullopt;
  return static_cast<int64_t>(rows);
}

// Batch and sequence of so many tokens; what was given is kept, and nothing is set where it does not divide them.
std::pair<int64_t, int64_t> Divide(int64_t tokens, const plan::PlanRequest& request) {
  const plan::Workload& w = request.workload;
  if (w.given.contains("batch")) return {w.batch, tokens % w.batch == 0 ? tokens / w.batch : 0};
  if (w.given.contains("sequence")) return {tokens % w.sequence == 0 ? tokens / w.sequence : 0, w.sequence};
  const int64_t most = request.model.max_positions > 0 ? request.model.max_positions : tokens;
  int64_t batch = std::max<int64_t>(1, (tokens + most - 1) / most);
  while (batch < tokens && tokens % batch != 0) ++batch;
  return {batch, tokens / batch};
}

std::string PrecisionOf(const MeasuredPeak& peak, const plan::PlanRequest& request) {
  const std::optional<uint64_t> parameters = Of(peak, "parameter");
  if (!parameters || request.model.parameter_count == 0) return "";
  const double each = static_cast<double>(*parameters) / static_cast<double>(request.model.parameter_count);
  if (Of(peak, "autocast_copy").value_or(0) > 0) return "bf16_autocast";
  if (IsNear(each, 2)) return "bf16";
  return IsNear(each, 4) ? "fp32" : "";
}

std::string OptimizerOf(const MeasuredPeak& peak) {
  const std::optional<uint64_t> parameters = Of(peak, "parameter");
  const std::optional<uint64_t> states = Of(peak, "optimizer_state");
  if (!parameters || !states || *parameters == 0) return "";
  const double ratio = static_cast<double>(*states) / static_cast<double>(*parameters);
  return IsNear(ratio, 2) ? "adamw" : IsNear(ratio, 1) ? "sgd_momentum" : "";
}

// The phase of a heap's highest moment, by the names that plans have for it.
std::string PhaseOfPeak(const HeapAnalysis& analysis) {
  const std::vector<Phase>& phases = analysis.timeline.phase_of_event;
  const uint32_t seq = analysis.peak.moment.seq();
  if (seq >= phases.size()) return "";
  const Phase phase = phases[seq];
  if (IsForwardOrEval(phase)) return "forward";
  if (IsBackward(phase)) return "backward";
  if (IsUpdate(phase)) return "optimizer";
  return phase == Phase::kPrefill ? "prefill" : phase == Phase::kDecode ? "decode" : "";
}

}  // namespace

Result<MeasuredPeak> MeasurePeak(KeptAnalyses& analyses) {
  const Store& store = analyses.store();
  SummaryOptions options;
  options.by = HolderKey::kCategory;
  options.top_count = kMostCategories;
  MEMSTRATA_ASSIGN_OR_RETURN(const SummaryAnswer summary, Summarize(analyses, options));
  const auto highest = std::max_element(
      summary.heaps.begin(), summary.heaps.end(),
      [](const HeapSummary& a, const HeapSummary& b) { return a.live_peak.bytes < b.live_peak.bytes; });
  if (highest == summary.heaps.end()) return Fail(ErrorCode::kNotFound, "The recording has no heap to compare with.");
  MeasuredPeak peak;
  peak.heap = highest->heap->id;
  if (highest->heap->capacity_bytes != kUnknownBytes) peak.capacity_bytes = highest->heap->capacity_bytes;
  peak.large_sizes = LargeSizes(store, *highest->heap);
  for (const Holder& holder : highest->holders) peak.bytes_by_category[holder.name] += holder.bytes;
  if (highest->block_peak) peak.allocated_bytes = highest->block_peak->bytes;
  if (highest->reserved_peak) peak.reserved_bytes = highest->reserved_peak->bytes;
  peak.phase = PhaseOfPeak(analyses.Of(*highest->heap));
  const LowerBoundReason reason = highest->heap->lower_bound;
  peak.has_gaps = reason == LowerBoundReason::kNoEvents || reason == LowerBoundReason::kRingOverflow ||
                  reason == LowerBoundReason::kTruncated;
  if (highest->is_lower_bound) peak.lower_bound_reason = highest->lower_bound_reason;
  return peak;
}

std::optional<int64_t> StepTokens(const MeasuredPeak& peak, const plan::ModelDescription& model) {
  constexpr int64_t kFewestTokens = 16;
  constexpr int64_t kRarestWords = 1000;  // rows of fewer words would be found in any size
  if (model.vocabulary < kRarestWords) return std::nullopt;
  for (const uint64_t size : peak.large_sizes) {
    for (const uint64_t width : {uint64_t{4}, uint64_t{2}}) {
      const std::optional<int64_t> rows = RowsOf(size, width * static_cast<uint64_t>(model.vocabulary));
      if (!rows || *rows < kFewestTokens) continue;
      // The scores are there in both widths; a table of words is in neither.
      const uint64_t other_row_bytes = (6 - width) * static_cast<uint64_t>(model.vocabulary);
      const bool has_other = std::any_of(peak.large_sizes.begin(), peak.large_sizes.end(),
                                         [&](uint64_t found) { return RowsOf(found, other_row_bytes) == rows; });
      const bool is_table = *rows == model.hidden;
      if (has_other && !is_table) return rows;
    }
  }
  return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> FillFromRecording(const MeasuredPeak& peak,
                                                                   plan::PlanRequest& request) {
  std::vector<std::pair<std::string, std::string>> filled;
  const auto fill = [&](const char* input, const std::string& value) {
    if (value.empty() || request.workload.given.contains(input)) return;
    if (plan::SetInput(request.workload, input, value)) filled.emplace_back(input, value);
  };
  if (peak.heap.find("bfc") != std::string::npos) fill("engine", "jax");  // the allocator of JAX and TensorFlow
  fill("precision", PrecisionOf(peak, request));
  fill("optimizer", OptimizerOf(peak));
  if (const std::optional<int64_t> tokens = StepTokens(peak, request.model)) {
    const auto [batch, sequence] = Divide(*tokens, request);
    if (batch > 0 && sequence > 0) {
      fill("batch", std::to_string(batch));
      fill("sequence", std::to_string(sequence));
    }
  }
  if (!request.card && peak.capacity_bytes) {
    const std::string capacity = std::to_string(*peak.capacity_bytes);
    if (Result<plan::Card> card = plan::FindCard(capacity)) {
      request.card = std::move(*card);
      request.card->name = fmt::format("a device of {}", FormatBytes(*peak.capacity_bytes));
      filled.emplace_back("card", capacity);
    }
  }
  return filled;
}

std::vector<std::string> UntoldInputs(const plan::Workload& workload,
                                      const std::vector<std::pair<std::string, std::string>>& filled) {
  std::vector<std::string> untold;
  for (const char* input : {"batch", "sequence", "recompute"}) {
    const bool is_told =
        std::any_of(filled.begin(), filled.end(), [&](const auto& entry) { return entry.first == input; });
    if (!is_told && !workload.given.contains(input)) untold.emplace_back(input);
  }
  return untold;
}

std::optional<int64_t> PlanResidual::DifferenceBytes() const {
  if (!planned_bytes || !measured_bytes) return std::nullopt;
  return static_cast<int64_t>(*planned_bytes) - static_cast<int64_t>(*measured_bytes);
}

bool AreAtOtherMoments(const plan::Plan& plan, const MeasuredPeak& peak) {
  const plan::DevicePlan& device = plan.WorstDevice();
  return !peak.phase.empty() && peak.phase != device.peak_phase && device.phase_peaks.contains(peak.phase);
}

std::vector<PlanResidual> FindResiduals(const plan::Plan& plan, const MeasuredPeak& peak) {
  const plan::DevicePlan& device = plan.WorstDevice();
  std::map<std::string, uint64_t> planned;
  for (const plan::Line& line : device.lines) {
    for (const auto& [category, term] : kTermsByCategory) {
      if (line.term == term) planned[std::string(category)] += line.bytes;
    }
  }
  // Where all is told apart, what is not there at the peak is nothing, not unknown.
  uint64_t all = 0;
  for (const auto& [category, bytes] : peak.bytes_by_category) all += bytes;
  const bool is_told_apart = all > 0 && Of(peak, "parameter") && Of(peak, "unknown").value_or(0) < all / 100;
  const auto measured = [&](const std::string& category) {
    const std::optional<uint64_t> bytes = Of(peak, category);
    return bytes || !is_told_apart ? bytes : std::optional<uint64_t>(0);
  };
  std::vector<PlanResidual> residuals;
  const bool is_other_moment = AreAtOtherMoments(plan, peak);
  for (const auto& [category, bytes] : planned) {
    const bool stays =
        category == "parameter" || category == "buffer" || category == "optimizer_state" || category == "workspace";
    const bool is_compared = stays || !is_other_moment;
    residuals.push_back({category, is_compared ? std::optional(bytes) : std::nullopt, measured(category)});
  }
  for (const auto& [category, bytes] : peak.bytes_by_category) {
    if (!planned.contains(category)) residuals.push_back({category, std::nullopt, bytes});
  }
  if (is_other_moment)
    residuals.push_back({peak.phase + "_peak", device.phase_peaks.at(peak.phase), peak.allocated_bytes});
  residuals.push_back({"framework_peak", device.framework_peak_bytes, peak.allocated_bytes});
  residuals.push_back({"framework_reserved", device.framework_reserved_bytes, peak.reserved_bytes});
  return residuals;
}

}  // namespace memstrata
