#pragma once
// XProf's Memory Viewer JSON for one program and memory space (protobuf's JSON form; zero values are left out). Equals
// what XProf 2.24 prints. Sizes are MiB as XProf has them.

#include "base/byte_sink.h"
#include "model/store/store.h"

namespace memstrata {

/// errors: kCorruptInput when the program's plan contradicts itself (XProf fails as well)
Status WriteXProfMemoryViewer(const Store& store, const Program& program, int64_t space, ByteSink& out);

}  // namespace memstrata
