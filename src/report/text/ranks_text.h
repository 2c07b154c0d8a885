#pragma once
// `memstrata ranks` for people: the worst rank and why first, then a row for each.

#include "base/byte_sink.h"
#include "query/ranks.h"
#include "report/text/text_style.h"

namespace memstrata {

Status WriteRanksText(const RanksAnswer& answer, const TextStyle& style, ByteSink& sink);

}  // namespace memstrata
