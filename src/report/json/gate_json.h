#pragma once
// `memstrata gate --json`: memstrata.gate/1, described by docs/reference/json/gate.schema.json.

#include "accept/gate.h"
#include "base/byte_sink.h"

namespace memstrata {

Status WriteGateJson(const accept::GateAnswer& answer, ByteSink& sink);

}  // namespace memstrata
