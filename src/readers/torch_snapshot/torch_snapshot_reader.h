#pragma once
// PyTorch memory snapshots: what torch.cuda.memory._dump_snapshot and its relatives write, from 1.12 to 2.16, as pickle
// or JSON. The format: docs/formats/torch_snapshot.md.

#include "readers/reader.h"

namespace memstrata::torch_snapshot {

extern const ReaderInfo kReader;

}  // namespace memstrata::torch_snapshot
