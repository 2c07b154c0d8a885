#pragma once
// A plan beside a recording of the same workload: what the recording tells of the workload, and the terms of both.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/kept_analyses.h"
#include "base/result.h"
#include "plan/plan.h"

namespace memstrata {

/// The highest moment of a recording, on the heap where it was highest.
struct MeasuredPeak {
  std::string heap;
  std::optional<uint64_t> capacity_bytes;
  std::map<std::string, uint64_t>
      bytes_by_category;                    // live at the peak, by the names of docs/reference/json/vocabulary.md
  std::optional<uint64_t> allocated_bytes;  // with the allocator's rounding
  std::optional<uint64_t> reserved_bytes;
  std::string phase;  // that the peak is in, by the plan's names: forward, backward, …; empty: not known
  std::vector<uint64_t> large_sizes;  // distinct requests of 1 MiB and more, largest first
  std::string lower_bound_reason;     // empty: the peak was recorded whole
  bool has_gaps = false;              // events are missing; a recording that began late has none
};

/// error: kNotFound when the recording has no heap. cost: that of Summarize()
Result<MeasuredPeak> MeasurePeak(KeptAnalyses& analyses);

/// Tokens of a step of a model with that vocabulary: the scores of all tokens are the largest tensors whose sizes are
/// whole numbers of rows of 2 or 4 bytes a word. Nothing where no size is one.
std::optional<int64_t> StepTokens(const MeasuredPeak& peak, const plan::ModelDescription& model);

/// Sets what was not given and what the recording tells: the precision and the optimizer, where the bytes of parameters
/// and states leave no doubt; batch and sequence by the tokens of a step, with the longest sequence that the model has
/// positions for where neither was given; a card of the recorded capacity. Gives back what was set, as inputs and
/// values.
std::vector<std::pair<std::string, std::string>> FillFromRecording(const MeasuredPeak& peak,
                                                                   plan::PlanRequest& request);

/// Inputs that decide the activations and that neither the recording told (`filled`) nor anybody gave.
std::vector<std::string> UntoldInputs(const plan::Workload& workload,
                                      const std::vector<std::pair<std::string, std::string>>& filled);

struct PlanResidual {
  std::string term;
  std::optional<uint64_t> planned_bytes;   // unknown: the plan has no such term
  std::optional<uint64_t> measured_bytes;  // unknown: the recording does not tell

  /// planned - measured
  std::optional<int64_t> DifferenceBytes() const;
};

/// True where the recorded peak is in another phase than the plan's: what comes and goes is not comparable then.
bool AreAtOtherMoments(const plan::Plan& plan, const MeasuredPeak& peak);

/// Terms of the fullest device against categories at the peak, then the plan's peak in the phase of the recorded one
/// where that is not its own, the whole peak and what was reserved.
std::vector<PlanResidual> FindResiduals(const plan::Plan& plan, const MeasuredPeak& peak);

}  // namespace memstrata
