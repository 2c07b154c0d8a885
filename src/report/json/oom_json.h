#pragma once
// `memstrata oom --json`.

#include "base/byte_sink.h"
#include "query/oom.h"

namespace memstrata {

Status WriteOomJson(const OomAnswer& answer, ByteSink& sink);

}  // namespace memstrata
