#pragma once
// XLA's text reports of --xla_dump_to: `*-buffer-assignment.txt` and `*-memory-usage-report.txt`, one program a file.
// Recognised by their first words.

#include "readers/reader.h"

namespace memstrata::xla {

extern const ReaderInfo kAssignmentTextReader;
extern const ReaderInfo kMemoryReportReader;

}  // namespace memstrata::xla
