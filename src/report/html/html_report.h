#pragma once
// The web page with the answers that it needs, as one file that works without a server or network.
// Form: docs/reference/api.md section 8.

#include "base/byte_sink.h"
#include "query/question.h"

namespace memstrata {

struct HtmlReportOptions {
  /// The answers that do not fit are left out, and the page says which kinds.
  uint64_t limit_bytes = 5'000'000;
  /// All of every run, whatever the size of the file.
  bool full = false;
};

/// errors: kNotFound when the program was built without the page; kIo
/// cost: a few tiles and states per heap, bounded whatever the number of events
Status WriteHtmlReport(SessionIndex& session, const HtmlReportOptions& options, ByteSink& sink);

}  // namespace memstrata
