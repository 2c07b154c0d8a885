#pragma once
// `memstrata explain` on the screen: the cause first, then the shapes.

#include "base/byte_sink.h"
#include "query/explain.h"
#include "report/text/text_style.h"

namespace memstrata {

Status WriteExplainText(const ExplainAnswer& answer, const TextStyle& style, ByteSink& sink);

}  // namespace memstrata
