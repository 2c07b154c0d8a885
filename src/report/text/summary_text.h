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

Status WriteSummaryText(const SummaryAnswer& answer, const SummaryTextOptions& options, ByteSink& sink);

}  // namespace memstrata
