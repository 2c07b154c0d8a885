#pragma once
// START and END marks of named ranges become spans.

#include "model/store/store_builder.h"
#include "readers/torch_snapshot/records.h"

namespace memstrata::torch_snapshot {

/// Adds one span per pair of marks of the same name and device, in order of their start. Marks nest; a START or END
/// that is written twice (the same time) counts once; one without its partner keeps an open end. Positions in the trace
/// of the device follow from the times.
void AddAnnotations(StoreBuilder& builder, const Records& records, const RecordList& list);

}  // namespace memstrata::torch_snapshot
