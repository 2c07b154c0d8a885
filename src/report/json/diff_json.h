#pragma once
// `memstrata diff --json`: memstrata.diff/1, described by docs/reference/json/diff.schema.json.

#include "base/byte_sink.h"
#include "query/diff.h"

namespace memstrata {

Status WriteDiffJson(const DiffAnswer& answer, ByteSink& sink);

}  // namespace memstrata
