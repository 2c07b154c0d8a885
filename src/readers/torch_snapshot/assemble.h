#pragma once
// From the records of one snapshot to heaps of the store: which events belong to which device, what the final state
// explains, and what the file cannot tell.

#include "readers/torch_snapshot/decoder.h"

namespace memstrata::torch_snapshot {

/// Appends the heaps of the snapshot to the builder.
/// errors: kLimitExceeded (rows, memory)
Status Assemble(StoreBuilder& builder, Decoder& decoder, const SnapshotRoot& root);

}  // namespace memstrata::torch_snapshot
