#pragma once
// `memstrata gate` on the screen.

#include "accept/gate.h"
#include "base/byte_sink.h"
#include "report/text/text_style.h"

namespace memstrata {

Status WriteGateText(const accept::GateAnswer& answer, const TextStyle& style, ByteSink& sink);

/// "make_weights (train.py:12)" of a row that grew, with the file as recorded; "blocks without a stack".
std::string BlamedPlace(const accept::BlamedRow& row);

/// "Memory is within the baseline." and its opposites.
std::string_view GateSentence(accept::Verdict verdict);

}  // namespace memstrata
