#pragma once
// Problems that reading goes on after, counted by code with the first offset. Nothing is dropped silently.

#include <string>
#include <string_view>
#include <vector>

#include "model/store/tables.h"

namespace memstrata {

class DiagnosticLog {
 public:
  /// One more occurrence of `code` in the current source. `text` of the first occurrence is kept.
  void Note(Severity severity, std::string_view code, std::string_view text, uint64_t offset = kUnknownBytes,
            uint64_t count = 1);
  void set_source(uint32_t source) { source_ = source; }
  std::vector<Diagnostic> Take() { return std::move(entries_); }

 private:
  std::vector<Diagnostic> entries_;
  uint32_t source_ = 0;
};

}  // namespace memstrata
