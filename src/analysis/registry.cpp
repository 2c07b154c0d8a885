#include <algorithm>

#include "analysis/category/loaded_copy_pass.h"
#include "analysis/failed_request/failed_request_pass.h"
#include "analysis/growth/growth_pass.h"
#include "analysis/growth/kept_evaluation_pass.h"
#include "analysis/growth/rising_peaks_pass.h"
#include "analysis/next_peak/peak_pass.h"
#include "analysis/pass.h"

namespace memstrata {

std::span<const PassInfo> AllPasses() {
  static constexpr PassInfo kAll[] = {kFailedRequestPass, kGrowthPass,      kKeptEvaluationPass,
                                      kLoadedCopyPass,    kRisingPeaksPass, kPeakPass};
  return kAll;
}

bool IsMoreUrgent(const Finding& a, const Finding& b) {
  if (a.severity != b.severity) return a.severity > b.severity;
  return !a.remedy.empty() && b.remedy.empty();
}

std::vector<Finding> RunPasses(const HeapAnalysis& analysis) {
  std::vector<Finding> findings;
  for (const PassInfo& pass : AllPasses()) {
    for (Finding& finding : pass.run(analysis)) findings.push_back(std::move(finding));
  }
  std::stable_sort(findings.begin(), findings.end(), IsMoreUrgent);
  return findings;
}

}  // namespace memstrata
