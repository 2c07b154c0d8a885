#pragma once
// What `memstrata run` says on standard error when the program has ended.

#include <string>

#include "measure/peaks.h"
#include "report/text/text_style.h"

namespace memstrata {

std::string RunText(const measure::MeasuredSession& session, const measure::RunPeaks& peaks, const TextStyle& style);

}  // namespace memstrata
