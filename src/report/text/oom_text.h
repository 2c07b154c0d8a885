#pragma once
// `memstrata oom` for people: the cause first, then what would have fitted, then who held the memory.

#include "base/byte_sink.h"
#include "query/oom.h"
#include "report/text/text_style.h"

namespace memstrata {

Status WriteOomText(const OomAnswer& answer, const TextStyle& style, ByteSink& sink);

}  // namespace memstrata
