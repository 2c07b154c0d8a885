#pragma once
// What `memstrata report` can write, by the ending of the file's name.

#include "base/byte_sink.h"
#include "query/session_index.h"

namespace memstrata {

struct WriterInfo {
  std::string_view suffix;  // ".html"
  Status (*write)(SessionIndex& session, ByteSink& sink);
};

/// The one list.
std::span<const WriterInfo* const> AllWriters();

}  // namespace memstrata
