#pragma once
// `memstrata ranks --json`.

#include "base/byte_sink.h"
#include "query/ranks.h"

namespace memstrata {

Status WriteRanksJson(const RanksAnswer& answer, ByteSink& sink);

}  // namespace memstrata
