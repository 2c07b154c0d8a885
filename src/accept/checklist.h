#pragma once
// What a planner's guide asks of an acceptance, line by line, each with its evidence or with what is lacking. A line is
// done only when the runs themselves show it.

#include "accept/acceptance.h"

namespace memstrata::accept {

std::vector<ChecklistItem> ChecklistOf(const Acceptance& acceptance);

}  // namespace memstrata::accept
