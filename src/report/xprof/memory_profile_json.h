#pragma once
// XProf's Memory Profile JSON (protobuf's JSON form: 64-bit integers as strings). With `as_xprof` it equals what XProf
// 2.24 prints for the same file up to the order of equal members; without, the same shape holds the correct figures,
// with two fields more a memory ID: allocationCount and deallocationCount of all events.

#include "base/byte_sink.h"
#include "model/store/store.h"

namespace memstrata {

/// Writes the profile of one source. A source without a host plane gives no bytes at all, as in XProf.
Status WriteXProfMemoryProfile(const Store& store, uint32_t source, bool as_xprof, ByteSink& out);

}  // namespace memstrata
