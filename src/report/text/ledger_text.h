#pragma once
// `memstrata ledger` on the screen, and as Markdown: the same rows.

#include <string>

#include "ledger/ledger.h"
#include "report/text/text_style.h"

namespace memstrata {

std::string LedgerText(const measure::MeasuredSession& session, const ledger::Ledger& answer, const TextStyle& style);

std::string LedgerMarkdown(const measure::MeasuredSession& session, const ledger::Ledger& answer);

}  // namespace memstrata
