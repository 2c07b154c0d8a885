#pragma once
// `memstrata accept --json`: memstrata.accept/1, described by docs/reference/json/accept.schema.json.

#include "accept/acceptance.h"
#include "base/byte_sink.h"

namespace memstrata {

/// `rows` of a sweep; empty without one.
std::string AcceptJson(const accept::Acceptance& acceptance, const std::vector<accept::SweepRow>& rows);

}  // namespace memstrata
