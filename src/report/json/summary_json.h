#pragma once
// `memstrata summary --json`: memstrata.summary/1.

#include "base/byte_sink.h"
#include "query/summary.h"

namespace memstrata {

struct SummaryJsonOptions {
  bool full_stacks = false;  // with plumbing frames
};

Status WriteSummaryJson(const SummaryAnswer& answer, const SummaryJsonOptions& options, ByteSink& sink);

}  // namespace memstrata
