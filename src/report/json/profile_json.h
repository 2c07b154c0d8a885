#pragma once
// The parts of memstrata.summary/1 that only heaps of XPlane profiles have.

#include "base/json_writer.h"
#include "query/host_summary.h"
#include "query/profile_summary.h"

namespace memstrata {

/// "used" inside "peak".
void WriteProfilePeak(JsonWriter& json, const ProfileSummary& profile);
/// Fields beside "peak": lifetime peak, utilization, largest request, notes, differences from XProf.
void WriteProfileFigures(JsonWriter& json, const ProfileSummary& profile);
/// "programs": what ran on the heap, each with its highest run against its plan; at most `top_count`.
void WriteProgramUses(JsonWriter& json, const ProfileSummary& profile, size_t top_count);
/// "help": what fills the heap at its peak, and what would make room.
void WriteProfileHelp(JsonWriter& json, const Store& store, const Heap& heap, const ProfileSummary& profile);

/// "hosts" of a session with several; nothing otherwise.
void WriteHosts(JsonWriter& json, const std::vector<HostSummary>& hosts);

}  // namespace memstrata
