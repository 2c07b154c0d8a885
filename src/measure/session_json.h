#pragma once
// session.json of a measured run: what every other verb knows a session by, and what people read first.

#include "measure/run.h"

namespace memstrata::measure {

/// Written under another name and renamed. errors: kIo
Status WriteSessionJson(const RunRequest& request, const MeasuredSession& session, bool is_complete);

}  // namespace memstrata::measure
