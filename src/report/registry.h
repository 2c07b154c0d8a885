#pragma once
// What `memstrata report` can write, by the ending of the file's name.

#include "base/byte_sink.h"
#include "query/session_index.h"

namespace memstrata {

struct ReportOptions {
  /// Whatever the size: close-ups of the whole run. Only where `WriterInfo::has_full`.
  bool full = false;
};

struct WriterInfo {
  std::string_view suffix;  // ".html"
  bool has_full;            // leaves something out unless asked for all
  Status (*write)(SessionIndex& session, const ReportOptions& options, ByteSink& sink);
};

/// The one list.
std::span<const WriterInfo* const> AllWriters();

}  // namespace memstrata
