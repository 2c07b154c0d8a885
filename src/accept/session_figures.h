#pragma once
// The figures of a measured session.

#include "accept/figures.h"
#include "measure/peaks.h"

namespace memstrata::accept {

/// All but what iterations and quality say.
RepeatFigures FiguresOfSession(const measure::MeasuredSession& session);

}  // namespace memstrata::accept
