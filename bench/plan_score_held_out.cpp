#include <algorithm>

#include "plan_score.h"

namespace memstrata::bench {
namespace {

constexpr size_t kFolds = 5;
constexpr double kLowShare = 0.05;
constexpr double kHighShare = 0.95;

// FNV-1a: the same folds on every machine.
size_t FoldOf(const std::string& group) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : group) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash % kFolds;
}

double RatioOf(const ScoredRow& row) {
  return static_cast<double>(*row.measured_bytes) / static_cast<double>(row.best_bytes);
}

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 1;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

}  // namespace

HeldOut ScoreHeldOut(const std::vector<ScoredRow>& rows) {
  HeldOut result;
  std::map<std::pair<std::string, size_t>, std::vector<double>> outside;  // by bounds and fold: ratios of other folds
  for (const ScoredRow& row : rows) {
    if (!row.error) continue;
    for (size_t fold = 0; fold < kFolds; ++fold) {
      if (FoldOf(row.group) != fold) outside[{row.bounds, fold}].push_back(RatioOf(row));
    }
  }
  std::vector<double> widths;
  for (const ScoredRow& row : rows) {
    if (!row.error) continue;
    const std::vector<double>& ratios = outside[{row.bounds, FoldOf(row.group)}];
    const double low = Quantile(ratios, kLowShare);
    const double high = Quantile(ratios, kHighShare);
    ++result.rows;
    result.above_high += RatioOf(row) > high ? 1 : 0;
    result.below_low += RatioOf(row) < low ? 1 : 0;
    widths.push_back(high - low);
  }
  result.median_width = widths.empty() ? 0 : Quantile(widths, 0.5);
  return result;
}

}  // namespace memstrata::bench
