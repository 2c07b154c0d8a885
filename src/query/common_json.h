#pragma once
// Parts that the JSON of every verb has.

#include <vector>

#include "base/json_writer.h"
#include "model/store/store.h"
#include "query/profile_summary.h"

namespace memstrata {

/// File, format, size and whether it was cut, of the object that is open.
void WriteSourceFields(JsonWriter& json, const Source& source);
void WriteSources(JsonWriter& json, const Store& store);
/// One member of the array "missing": every verb that cannot tell something says it so.
void WriteMissingItem(JsonWriter& json, std::string_view what, std::string_view why, std::string_view how_to_get);
void WriteMissing(JsonWriter& json, const Store& store);
void WriteDiagnostics(JsonWriter& json, const Store& store);
/// The array under "stack": innermost frame first.
void WriteFrames(JsonWriter& json, const Store& store, const std::vector<FrameId>& frames);

/// The members of an array of holders of an XPlane profile; `total_bytes` = stack + heap at their moment.
void WriteProfileHolders(JsonWriter& json, const std::vector<ProfileHolder>& holders, uint64_t total_bytes);

}  // namespace memstrata
