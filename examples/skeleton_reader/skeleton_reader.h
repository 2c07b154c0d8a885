#pragma once
// Example of a reader: a text format with one event a line. Copy this folder to src/readers/NAME/ and replace the
// format.
//
//   skeleton 1
//   alloc 0x1000 512
//   free 0x1000
//
// Not for: anything real. It shows the shape: probe, decode within limits, emit through model/ingest.

#include "readers/reader.h"

namespace memstrata::skeleton {

/// Add `&skeleton::kReader` to src/readers/registry.cpp.
extern const ReaderInfo kReader;

}  // namespace memstrata::skeleton
