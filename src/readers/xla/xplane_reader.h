#pragma once
// XPlane profiles: the *.xplane.pb files that XProf, JAX and TensorFlow write. Format: docs/formats/xplane.md.

#include "readers/reader.h"

namespace memstrata::xla {

extern const ReaderInfo kXPlaneReader;

/// "tw003" from ".../tw003.xplane.pb"; empty when the file is named otherwise.
std::string HostOfFile(std::string_view file);

}  // namespace memstrata::xla
