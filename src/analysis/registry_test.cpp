#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/pass.h"

namespace memstrata {
namespace {

Finding Of(std::string id, FindingSeverity severity, std::string remedy) {
  Finding finding;
  finding.id = std::move(id);
  finding.severity = severity;
  finding.remedy = std::move(remedy);
  return finding;
}

TEST(Findings, TheMoreSevereComesFirstThenWhatCanBeActedOn) {
  std::vector<Finding> findings = {
      Of("growth_none", FindingSeverity::kInfo, ""), Of("peak", FindingSeverity::kInfo, "Recompute."),
      Of("idle", FindingSeverity::kWarning, ""), Of("leak", FindingSeverity::kWarning, "Detach.")};
  std::stable_sort(findings.begin(), findings.end(), IsMoreUrgent);
  std::vector<std::string> order;
  for (const Finding& finding : findings) order.push_back(finding.id);
  EXPECT_EQ(order, (std::vector<std::string>{"leak", "idle", "peak", "growth_none"}));
}

}  // namespace
}  // namespace memstrata
