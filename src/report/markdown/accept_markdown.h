#pragma once
// An acceptance as Markdown: the report to keep or to send.

#include <string>
#include <vector>

#include "accept/acceptance.h"

namespace memstrata {

std::string AcceptMarkdown(const accept::Acceptance& acceptance, const std::vector<accept::SweepRow>& rows);

}  // namespace memstrata
