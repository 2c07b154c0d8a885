#pragma once
// `memstrata ledger --json`: docs/reference/json/ledger.schema.json. The page shows the same.

#include <string>

#include "ledger/ledger.h"

namespace memstrata {

std::string LedgerJson(const measure::MeasuredSession& session, const ledger::Ledger& answer);

}  // namespace memstrata
