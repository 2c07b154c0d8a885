#pragma once
// `memstrata run --json`: docs/reference/json/run.schema.json.

#include <string>

#include "base/json_writer.h"
#include "measure/peaks.h"

namespace memstrata {

std::string RunJson(const measure::MeasuredSession& session, const measure::RunPeaks& peaks);

/// Fields of the object that is open.
void WriteHostDetail(JsonWriter& json, const measure::MeasuredSession& session, const measure::HostDetail& detail);

/// The array under "missing".
void WriteGaps(JsonWriter& json, const std::vector<measure::Gap>& gaps);

}  // namespace memstrata
