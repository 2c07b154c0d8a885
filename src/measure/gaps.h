#pragma once
// What a measured run does not know, why, and how to get it next time: of the recorder, of each process, and what
// follows from the way of measuring.

#include "measure/session.h"

namespace memstrata::measure {

/// In a fixed order. cost: O(processes)
std::vector<Gap> FindGaps(const MeasuredSession& session);

}  // namespace memstrata::measure
