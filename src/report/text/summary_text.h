#pragma once
// `memstrata summary` on the screen: read in ten seconds.

#include "base/byte_sink.h"
#include "query/summary.h"
#include "report/text/text_style.h"

namespace memstrata {

struct SummaryTextOptions {
  TextStyle style;
  bool full_stacks = false;  // every frame of every holder
};

/// "at event 1,234, 1.25 ms after the first".
std::string DescribeMoment(const Store& store, const HeapSummary& heap, Moment moment);

Status WriteSummaryText(const SummaryAnswer& answer, const SummaryTextOptions& options, ByteSink& sink);

}  // namespace memstrata
