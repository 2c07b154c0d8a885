#pragma once
// A plan as text for people, as the memstrata.plan/1 object and as a purchase sheet.

#include <string>

#include "base/json_writer.h"
#include "plan/plan.h"
#include "plan/sweep.h"

namespace memstrata::plan {

std::string PlanText(const Plan& plan);
void WritePlanJson(const Plan& plan, JsonWriter& json);
/// Its key "diagnostics" alone.
void WritePlanDiagnostics(const Plan& plan, JsonWriter& json);

/// One row for each card that was asked for, best first.
std::string RankingText(const std::vector<Plan>& plans);
std::string SweepText(const Sweep& sweep);
void WriteSweepJson(const Sweep& sweep, JsonWriter& json);

/// What to buy and what to check on delivery.
std::string SheetText(const std::vector<Plan>& plans);

}  // namespace memstrata::plan
