#pragma once
// What a snapshot file holds, decoded but not yet interpreted: trace events as columns, the rest as small structs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/store/tables.h"

namespace memstrata::torch_snapshot {

/// One segment of the final state, as written.
struct RawSegment {
  uint32_t device = 0;
  uint64_t addr = 0;
  uint64_t size_bytes = 0;
  uint64_t stream = 0;
  Pool pool;
  bool has_pool = false;
  SegmentKind kind = SegmentKind::kUnknown;
  bool is_expandable = false;
  StackId stack{0};
  uint32_t block_list = kNone;  // → record list
};

struct RawBlock {
  uint64_t addr = kUnknownBytes;  // not written before 2.1: follows from the blocks before it
  uint64_t size_bytes = 0;
  uint64_t requested_bytes = kUnknownBytes;
  BlockState state = BlockState::kUnknown;
  StackId stack{0};
};

/// One border of a named range.
struct RawAnnotation {
  StringId name;
  uint32_t device = 0;
  int64_t time_ns = kNoTime;
  bool is_start = false;
};

enum class RecordKind : uint8_t { kEvent, kSegment, kBlock, kAnnotation };

/// A list of records of one kind: ranges of rows, in list order. Writers make a list's records one after the other, so
/// that nearly every list is one range.
struct RecordList {
  RecordKind kind = RecordKind::kEvent;
  std::vector<RowRange> ranges;
  uint64_t RowCount() const {
    uint64_t count = 0;
    for (const RowRange& range : ranges) count += range.size();
    return count;
  }
};

struct Records {
  EventTable events;
  std::vector<RawSegment> segments;
  std::vector<RawBlock> blocks;
  std::vector<RawAnnotation> annotations;
  std::vector<RecordList> lists;
};

/// What memstrata's capture adds to a snapshot: the key "memstrata".
struct CaptureBlock {
  bool is_present = false;
  std::string device_type = "cuda";  // prefix of the ids of device heaps
  std::string host_type = "host";    // likewise; "cpu": the host's own allocator, not pinned memory
  std::vector<std::pair<uint32_t, DeviceSample>> samples;  // device → sample, as written
};

/// The top level of a snapshot. Lists are rows of Records::lists, kNone where the file has none.
struct SnapshotRoot {
  uint32_t segments = kNone;
  uint32_t host_segments = kNone;
  std::vector<uint32_t> device_traces;
  std::vector<uint32_t> host_traces;
  bool has_device_traces = false;
  uint32_t annotations = kNone;
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<bool> overflowed;       // per device; one entry may stand for all
  std::vector<uint64_t> max_entries;  // likewise
  CaptureBlock capture;
  bool is_list = false;  // the form of 1.12 and 1.13, and of MemPool.snapshot()
};

}  // namespace memstrata::torch_snapshot
