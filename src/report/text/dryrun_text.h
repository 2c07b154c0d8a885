#pragma once
// `memstrata dryrun` on the screen: fits or not, with what margin, who holds the peak.

#include <string>

#include "base/byte_sink.h"
#include "dryrun/answer.h"
#include "query/explain.h"
#include "report/text/text_style.h"

namespace memstrata {

/// `explained` is of the snapshot of the process with the highest peak; null when there is none.
Status WriteDryRunText(const dryrun::DryRunAnswer& answer, const ExplainAnswer* explained, const TextStyle& style,
                       ByteSink& sink);

/// What a package needs of the vendor and what the simulated card does not answer (`--check`).
std::string WheelText(const dryrun::Wheel& wheel, int width);

}  // namespace memstrata
