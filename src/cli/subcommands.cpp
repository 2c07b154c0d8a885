#include "cli/verbs.h"

namespace memstrata::cli {

std::span<const Subcommand* const> AllSubcommands() {
  static constexpr const Subcommand* kAll[] = {&kSummary, &kExplain, &kOom,    &kDiff,    &kGate,
                                               &kRanks,   &kOpen,    &kReport, &kPlan,    &kAccept,
                                               &kDryRun,  &kRun,     &kLedger, &kConvert, &kDoctor};
  return kAll;
}

}  // namespace memstrata::cli
