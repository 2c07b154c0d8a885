#include "report/xprof/memory_profile_json.h"

#include <fmt/format.h>

#include <cmath>

#include "analysis/memory_profile/profile.h"
#include "base/json_writer.h"

namespace memstrata {
namespace {

class Writer {
 public:
  Writer(const Store& store, bool as_xprof, ByteSink& out)
      : store_(store), as_xprof_(as_xprof), view_(store, as_xprof), out_(out), json_(JsonWriter::Style::kCompact) {}

  Status Write(const Profile& profile, uint32_t source) {
    json_.StartObject();
    json_.Key("memoryProfilePerAllocator");
    json_.StartObject();
    for (const ProfileAllocator& allocator : profile.allocators) {
      json_.Key(allocator.id);
      WriteAllocator(allocator);
      MEMSTRATA_TRY(out_.Write(json_.TakeText()));
    }
    json_.EndObject();
    json_.Field("numHosts", 1);
    json_.Key("memoryIds");
    json_.StartArray();
    for (const ProfileAllocator& allocator : profile.allocators) json_.Value(std::string_view(allocator.id));
    json_.EndArray();
    json_.Field("version", 1);
    WriteModules(source);
    json_.EndObject();
    return out_.Write(json_.Finish());
  }

 private:
  // 64-bit integers are strings in protobuf's JSON.
  template <class T>
  void Text(std::string_view key, T value) {
    json_.Key(key);
    json_.Value(std::string_view(fmt::format_int(value).c_str()));
  }
  void Size(std::string_view key, uint64_t size_bytes) { Text(key, static_cast<int64_t>(size_bytes)); }

  void WriteFragmentation(double fragmentation) {
    json_.Key("fragmentation");
    if (std::isnan(fragmentation)) {
      json_.Value("NaN");
    } else {
      json_.Value(fragmentation);
    }
  }

  void WriteStats(std::string_view key, uint32_t row, uint64_t peak_bytes) {
    json_.Key(key);
    json_.StartObject();
    Size("stackReservedBytes", view_.StackBytes(row));
    Size("heapAllocatedBytes", view_.HeapBytes(row));
    Size("freeMemoryBytes", view_.FreeBytes(row));
    WriteFragmentation(view_.Fragmentation(row));
    Size("peakBytesInUse", peak_bytes);
    json_.EndObject();
  }

  void WriteSnapshot(const ProfileSnapshot& snapshot) {
    const uint32_t row = snapshot.row;
    json_.StartObject();
    Text("timeOffsetPs", view_.TimePs(row));
    WriteStats("aggregationStats", row, view_.PeakBytes(row));
    json_.Key("activityMetadata");
    json_.StartObject();
    json_.Field("memoryActivity", view_.IsAllocation(row) ? "ALLOCATION" : "DEALLOCATION");
    Size("requestedBytes", view_.RequestedBytes(row));
    Size("allocationBytes", view_.SizeBytes(row));
    Text("address", view_.Address(row));
    json_.Field("tfOpName", view_.Op(snapshot.label_row));
    Text("stepId", snapshot.step == kNoStep ? -1 : snapshot.step);
    json_.Field("regionType", view_.Region(snapshot.label_row));
    json_.Field("dataType", view_.DataType(snapshot.label_row));
    json_.Field("tensorShape", view_.Shape(snapshot.label_row));
    json_.EndObject();
    json_.EndObject();
  }

  void WriteSnapshots(std::string_view key, const std::vector<ProfileSnapshot>& snapshots) {
    json_.Key(key);
    json_.StartArray();
    for (const ProfileSnapshot& snapshot : snapshots) WriteSnapshot(snapshot);
    json_.EndArray();
  }

  void WriteRemainder(const ProfileRemainder& remainder) {
    json_.StartObject();
    json_.Field("memoryActivity", "ALLOCATION");
    Text("requestedBytes", remainder.bytes);
    Text("allocationBytes", remainder.bytes);
    Text("address", 0);
    json_.Field("tfOpName", std::string_view(remainder.name));
    Text("stepId", remainder.step == kNoStep ? -1 : remainder.step);
    json_.Field("regionType", std::string_view(remainder.region));
    json_.Field("dataType", "INVALID");
    json_.Field("tensorShape", "unknown");
    json_.EndObject();
  }

  void WriteSummary(const ProfileAllocator& allocator) {
    json_.Key("profileSummary");
    json_.StartObject();
    Size("peakBytesUsageLifetime", allocator.lifetime_peak_bytes);
    if (allocator.peak_row != kNone) WriteStats("peakStats", allocator.peak_row, allocator.peak_used_bytes);
    Text("peakStatsTimePs", allocator.peak_time_ps);
    Size("memoryCapacity", allocator.capacity_bytes);
    if (!as_xprof_) {
      Text("allocationCount", allocator.allocation_count);
      Text("deallocationCount", allocator.free_count);
    }
    json_.EndObject();
  }

  void WriteAllocator(const ProfileAllocator& allocator) {
    json_.StartObject();
    WriteSnapshots("memoryProfileSnapshots", allocator.kept);
    WriteSummary(allocator);
    json_.Key("activeAllocations");
    json_.StartArray();
    for (const ProfileRow& row : allocator.rows) {
      const bool is_block = row.remainder == kNone;
      json_.StartObject();
      Text("snapshotIndex", is_block ? int64_t{row.snapshot} : -1 - int64_t{row.remainder});
      Text("specialIndex", is_block ? -1 : int64_t{row.remainder});
      Text("numOccurrences", row.count);
      json_.EndObject();
    }
    json_.EndArray();
    json_.Key("specialAllocations");
    json_.StartArray();
    for (const ProfileRemainder& remainder : allocator.remainders) WriteRemainder(remainder);
    json_.EndArray();
    WriteSnapshots("sampledTimelineSnapshots", allocator.sampled);
    json_.EndObject();
  }

  void WriteModules(uint32_t source) {
    json_.Key("hloModules");
    json_.StartArray();
    int32_t id = 0;
    for (const XPlaneModule& module : store_.xplane.modules) {
      if (module.source != source || !(module.is_tpu || !as_xprof_)) continue;
      std::string_view plane = store_.String(module.plane);
      if (plane.starts_with("/device:")) plane.remove_prefix(8);
      const int64_t begin_ps = module.offset_ps + (as_xprof_ ? 0 : module.line_begin_ps);
      json_.StartObject();
      json_.Field("name", store_.String(module.name));
      Text("startTimePs", begin_ps);
      Text("endTimePs", begin_ps + module.duration_ps);
      json_.Field("id", id++);
      json_.Field("planeName", plane);
      json_.EndObject();
    }
    json_.EndArray();
  }

  const Store& store_;
  bool as_xprof_;
  ProfileView view_;
  ByteSink& out_;
  JsonWriter json_;
};

}  // namespace

Status WriteXProfMemoryProfile(const Store& store, uint32_t source, bool as_xprof, ByteSink& out) {
  const Profile profile = as_xprof ? XProfProfile(store, source) : CorrectProfile(store, source);
  if (!profile.has_host_plane) return {};
  return Writer(store, as_xprof, out).Write(profile, source);
}

}  // namespace memstrata
