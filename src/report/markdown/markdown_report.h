#pragma once
// What `summary` and `explain` say, as Markdown for a ticket or a chat.

#include "base/byte_sink.h"
#include "model/store/store.h"

namespace memstrata {

/// errors: kIo   cost: that of Summarize() and Explain()
Status WriteMarkdownReport(const Store& store, ByteSink& sink);

}  // namespace memstrata
