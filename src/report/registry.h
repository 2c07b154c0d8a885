#pragma once
// What can be written into a file, by the ending of its name.

#include "base/byte_sink.h"
#include "query/session_index.h"
#include "report/picture/picture_file.h"

namespace memstrata {

struct ReportOptions {
  /// Whatever the size: close-ups of the whole run. Only where `WriterInfo::has_full`.
  bool full = false;
  PictureOptions picture;  // of the forms that draw one heap
};

struct WriterInfo {
  std::string_view suffix;  // ".html"
  bool has_full;            // leaves something out unless asked for all
  Status (*write)(SessionIndex& session, const ReportOptions& options, ByteSink& sink);
};

/// The one list of `memstrata report`.
std::span<const WriterInfo* const> AllWriters();

/// What `memstrata explain -o` can write.
std::span<const WriterInfo* const> PictureWriters();

/// The writer for a file of this name. errors: kInvalidArgument, with the endings that are known
Result<const WriterInfo*> WriterFor(std::string_view path, std::span<const WriterInfo* const> writers);

}  // namespace memstrata
