#pragma once
// JAX device memory profiles (jax.profiler.save_device_memory_profile): gzipped pprof files with the live buffers and
// compiled executables at one moment, by stack. Format: docs/formats/pprof.md.

#include "readers/reader.h"

namespace memstrata::pprof {

extern const ReaderInfo kReader;

}  // namespace memstrata::pprof
