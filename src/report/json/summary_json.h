#pragma once
// `memstrata summary --json`: memstrata.summary/1.

#include "base/byte_sink.h"
#include "query/summary.h"

namespace memstrata {

/// Stacks are written whole: folding is for people.
Status WriteSummaryJson(const SummaryAnswer& answer, ByteSink& sink);

}  // namespace memstrata
