#pragma once
// `memstrata gate` for CI servers: JUnit XML, the annotations of GitHub Actions, and a table for its job summary.

#include "accept/gate.h"
#include "base/byte_sink.h"

namespace memstrata {

Status WriteGateJunit(const accept::GateAnswer& answer, ByteSink& sink);

/// One workflow command a line ("::error file=…,line=…::…"): each failed figure at the place that grew most, each
/// undecided one as a warning. Paths below `root` are written relative to it, as GitHub wants them.
std::string GateAnnotations(const accept::GateAnswer& answer, const std::string& root);

/// Markdown: the verdict, a table of the figures, and who is to blame.
std::string GateMarkdown(const accept::GateAnswer& answer);

}  // namespace memstrata
