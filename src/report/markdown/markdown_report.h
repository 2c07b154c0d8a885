#pragma once
// What `summary` and `explain` say, as Markdown for a ticket or a chat.

#include "base/byte_sink.h"
#include "query/session_index.h"

namespace memstrata {

/// errors: kIo   cost: that of Summarize() and Explain()
Status WriteMarkdownReport(SessionIndex& session, ByteSink& sink);

}  // namespace memstrata
