#include <algorithm>
#include <set>

#include "plan_score.h"

namespace memstrata::bench {
namespace {

constexpr double kLowShare = 0.03;
constexpr double kHighShare = 0.97;
constexpr double kRoom = 0.02;  // beyond these shares: groups are few, and a new one lies outside now and then

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
  std::map<std::pair<std::string, std::string>, std::vector<double>>
      outside;  // by bounds and group: the others' ratios
  std::set<std::pair<std::string, std::string>> groups;
  for (const ScoredRow& row : rows) {
    if (row.error) groups.insert({row.bounds, row.group});
  }
  for (const auto& [bounds, group] : groups) {
    for (const ScoredRow& row : rows) {
      if (row.error && row.bounds == bounds && row.group != group) outside[{bounds, group}].push_back(RatioOf(row));
    }
  }
  std::vector<double> widths;
  for (const ScoredRow& row : rows) {
    if (!row.error) continue;
    const std::vector<double>& ratios = outside[{row.bounds, row.group}];
    const double low = Quantile(ratios, kLowShare) - kRoom;
    const double high = Quantile(ratios, kHighShare) + kRoom;
    ++result.rows;
    result.above_high += RatioOf(row) > high ? 1 : 0;
    result.below_low += RatioOf(row) < low ? 1 : 0;
    widths.push_back(high - low);
  }
  result.median_width = widths.empty() ? 0 : Quantile(widths, 0.5);
  return result;
}

}  // namespace memstrata::bench
