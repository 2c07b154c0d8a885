#pragma once
// Who holds the live peak of each heap, as comma-separated values for a spreadsheet: one row per call stack, the sum of
// a heap's rows is its peak.

#include "base/byte_sink.h"
#include "model/store/store.h"

namespace memstrata {

/// Columns: heap, bytes, share (of the peak), blocks, category, function, file, line. errors: kIo
Status WriteHoldersCsv(const Store& store, ByteSink& sink);

}  // namespace memstrata
