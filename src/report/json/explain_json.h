#pragma once
// `memstrata explain --json`: memstrata.explain/1, described by docs/reference/json/explain.schema.json.

#include "base/byte_sink.h"
#include "query/explain.h"

namespace memstrata {

Status WriteExplainJson(const ExplainAnswer& answer, ByteSink& sink);

}  // namespace memstrata
