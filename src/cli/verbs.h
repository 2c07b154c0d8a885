#pragma once
// One declaration per verb; each is defined in cli/NAME_command.cpp and listed in cli/subcommands.cpp.

#include "cli/subcommand.h"

namespace memstrata::cli {

extern const Subcommand kAccept;
extern const Subcommand kConvert;
extern const Subcommand kDiff;
extern const Subcommand kDoctor;
extern const Subcommand kDryRun;
extern const Subcommand kExplain;
extern const Subcommand kGate;
extern const Subcommand kLedger;
extern const Subcommand kOom;
extern const Subcommand kOpen;
extern const Subcommand kPlan;
extern const Subcommand kRanks;
extern const Subcommand kReport;
extern const Subcommand kRun;
extern const Subcommand kSummary;

}  // namespace memstrata::cli
