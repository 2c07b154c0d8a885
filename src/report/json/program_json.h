#pragma once
// The array "programs" of memstrata.summary/1: the static plan of each compiled program.

#include "base/json_writer.h"
#include "model/store/store.h"

namespace memstrata {

/// At most `top_count` buffers a program.
void WritePrograms(JsonWriter& json, const Store& store, size_t top_count);

}  // namespace memstrata
