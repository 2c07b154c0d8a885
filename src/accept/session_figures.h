#pragma once
// The figures of a measured session.

#include "accept/figures.h"
#include "measure/peaks.h"

namespace memstrata::accept {

/// All but what iterations and quality say. Devices that the run has nothing on are left out where that is known.
RepeatFigures FiguresOfSession(const measure::MeasuredSession& session);

}  // namespace memstrata::accept
