#include "model/ingest/diagnostics.h"

namespace memstrata {

void DiagnosticLog::Note(Severity severity, std::string_view code, std::string_view text, uint64_t offset,
                         uint64_t count) {
  for (Diagnostic& entry : entries_) {
    if (entry.code == code && entry.source == source_) {
      entry.count += count;
      return;
    }
  }
  entries_.push_back({severity, std::string(code), count, offset, source_, std::string(text)});
}

}  // namespace memstrata
