#pragma once
// Scores the planner against tables of measured memory: one request a row, predicted against measured.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "csv.h"
#include "plan/plan.h"

namespace memstrata::bench {

struct ScoredRow {
  std::string id;
  std::string family;
  std::optional<uint64_t> measured_bytes;
  uint64_t resolution_bytes = 0;  // what the source rounds by: half of its last printed digit
  uint64_t low_bytes = 0;
  uint64_t best_bytes = 0;
  uint64_t high_bytes = 0;
  std::optional<double> error;  // (best - measured) / measured
  std::string peak_phase;
  std::map<std::string, std::pair<uint64_t, std::optional<uint64_t>>> terms;  // predicted, measured
  std::optional<bool> phase_is_right;
  std::optional<bool> fit_is_right;
  std::string bounds;        // which rows share bounds: the constant's name
  std::string group;         // left out together when bounds are held out: a condition, or a source's model
  std::string out_of_scope;  // the reason, or empty
  std::map<std::string, double> naive_errors;
};

/// Rows of planner-dryrun-truth; `folder` holds configs/.
std::vector<ScoredRow> ScoreDryRuns(const std::vector<CsvRow>& rows, const std::string& folder);
/// Rows of published measurements.
std::vector<ScoredRow> ScorePoints(const std::vector<CsvRow>& rows);
/// Rows of Megatron's golden values.
std::vector<ScoredRow> ScoreMegatron(const std::vector<CsvRow>& rows);

/// How bounds do that are set without the rows that they are tried on.
struct HeldOut {
  size_t rows = 0;
  size_t above_high = 0;
  size_t below_low = 0;
  double median_width = 0;  // (high - low) / best
};
/// One group is left out at a time; its bounds are the 3rd and 97th percentile of measured / best in the others, among
/// rows with the same bounds, with two hundredths of room.
HeldOut ScoreHeldOut(const std::vector<ScoredRow>& rows);

/// Fills best, low, high and error.
void SetFigures(uint64_t low, uint64_t best, uint64_t high, ScoredRow& row);
/// The same from a device of a plan.
void SetPrediction(const plan::DevicePlan& device, ScoredRow& row);
/// Errors of estimators that need no model of a step.
void SetNaiveErrors(const plan::PlanRequest& request, ScoredRow& row);

}  // namespace memstrata::bench
