#pragma once
// `memstrata diff` on the screen: the difference of the peaks, then who made it.

#include "base/byte_sink.h"
#include "query/diff.h"
#include "report/text/text_style.h"

namespace memstrata {

/// At most `top_count` rows a heap; the rest is one row, so that the column adds up.
Status WriteDiffText(const DiffAnswer& answer, const TextStyle& style, size_t top_count, ByteSink& sink);

}  // namespace memstrata
