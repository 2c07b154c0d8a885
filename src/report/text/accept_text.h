#pragma once
// `memstrata accept` on the screen.

#include "accept/acceptance.h"
#include "base/byte_sink.h"
#include "report/text/text_style.h"

namespace memstrata {

Status WriteAcceptText(const accept::Acceptance& acceptance, const std::vector<accept::SweepRow>& rows,
                       const TextStyle& style, ByteSink& sink);

/// "batch=2 precision=bf16".
std::string ParameterWords(const std::map<std::string, std::string>& parameters);
/// The cells of a row of a sweep, in the order of kSweepColumns; what is not known is "unknown".
std::vector<std::string> SweepCells(const accept::SweepRow& row);
inline constexpr std::string_view kSweepColumns[] = {"parameters", "memory",  "latency", "per second",
                                                     "quality",    "verdict", "Pareto"};

/// "The workload is accepted." and its opposites.
std::string_view AcceptSentence(accept::Verdict verdict);

}  // namespace memstrata
