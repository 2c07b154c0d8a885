#include "report/json/fragmentation_json.h"

#include <algorithm>

#include "analysis/frames/useful_frame.h"
#include "query/common_json.h"

namespace memstrata {
namespace {

constexpr size_t kMostPinned = 20;  // segments that are listed; `pinned_segment_count` counts all

void WritePinned(JsonWriter& json, const Store& store, const Fragmentation& found) {
  json.Field("pinned_bytes", found.pinned_bytes);
  json.Field("pinning_bytes", found.pinning_bytes);
  json.Field("pinned_segment_count", uint64_t{found.pinned.size()});
  json.Key("pinned_segments");
  json.StartArray();
  for (size_t i = 0; i < std::min(found.pinned.size(), kMostPinned); ++i) {
    const PinnedSegment& segment = found.pinned[i];
    json.StartObject();
    json.Field("addr", segment.addr);
    json.Field("size_bytes", segment.size_bytes);
    json.Field("live_bytes", segment.live_bytes);
    json.Field("hole_bytes", segment.hole_bytes);
    json.Field("block_count", segment.block_count);
    json.Key("largest_block_stack");
    WriteFrames(json, store, FramesOf(store, store.allocations.stack[segment.largest_allocation]));
    json.EndObject();
  }
  json.EndArray();
}

void WriteRemedies(JsonWriter& json, const FragmentationAnswer& answer) {
  json.Key("remedies");
  json.StartArray();
  if (answer.replayed) {
    for (const ReplayedRemedy& remedy : answer.replayed->remedies) {
      json.StartObject();
      json.Field("setting", std::string_view(remedy.setting));
      json.Field("peak_reserved_before_bytes", answer.peak_reserved_bytes);
      json.Field("peak_reserved_after_bytes", remedy.outcome.peak_reserved_bytes);
      json.Field("basis", answer.replayed->is_faithful ? "computed" : "assumed");
      json.EndObject();
    }
  }
  json.EndArray();
}

}  // namespace

void WriteFragmentation(JsonWriter& json, const Store& store, const std::optional<FragmentationAnswer>& answer) {
  json.Key("fragmentation");
  if (!answer) return json.Null();
  const Fragmentation& found = answer->at_peak;
  json.StartObject();
  json.Field("at_seq", found.at.event_count);
  json.Field("reserved_bytes", found.reserved_bytes);
  json.Field("block_bytes", found.block_bytes);
  json.Field("idle_bytes", found.idle_bytes);
  json.Key("by_kind");
  json.StartObject();
  json.Field("private_pool_bytes", found.kind_bytes[static_cast<size_t>(HoleKind::kPrivatePool)]);
  json.Field("whole_segment_bytes", found.kind_bytes[static_cast<size_t>(HoleKind::kWholeSegment)]);
  json.Field("stream_bytes", found.kind_bytes[static_cast<size_t>(HoleKind::kIdleStream)]);
  json.Field("split_bytes", found.kind_bytes[static_cast<size_t>(HoleKind::kSplit)]);
  json.EndObject();
  json.Field("hole_count", found.hole_count);
  json.Field("largest_hole_bytes", found.largest_hole_bytes);
  json.Field("requested_bytes", found.needed_bytes);
  json.Field("recoverable_bytes", found.recoverable_bytes);
  json.Field("hard_bytes", found.hard_bytes);
  json.Field("approximate", found.is_approximate);
  json.Field("peak_reserved_bytes", answer->peak_reserved_bytes);
  WritePinned(json, store, found);
  WriteRemedies(json, *answer);
  json.EndObject();
}

}  // namespace memstrata
