#pragma once
// The content of XProf's Memory Profile, computed in two ways from the same store:
//  - correct: events of all host planes in true order, all of them counted, everything live at the peak in the table;
//  - XProf's: what XProf itself shows, mistake for mistake, so that its numbers can be compared with ours.
// docs/formats/xplane.md lists the differences.

#include <cstdint>
#include <string>
#include <vector>

#include "model/store/store.h"

namespace memstrata {

/// The values of one event as one of the two ways sees them.
struct ProfileSnapshot {
  uint32_t row = kNone;        // the event
  uint32_t label_row = kNone;  // the event whose op, region, data type and shape describe the block
  int64_t step = 0;
};

/// Names of the rows that are no allocation of the trace.
inline constexpr std::string_view kStackName = "stack";
inline constexpr std::string_view kBeforeRecordingName = "allocated before the recording";
/// Positive: allocations whose events are missing. Negative: frees whose events are missing.
inline constexpr std::string_view kNotRecordedName = "not recorded (events are missing)";

/// A row of the breakdown that is no allocation of the trace.
struct ProfileRemainder {
  std::string name;
  std::string region;
  int64_t bytes = 0;
  int64_t step = 0;
};

/// A row of the breakdown: `count` equal blocks, or a remainder.
struct ProfileRow {
  uint32_t snapshot = kNone;   // → ProfileAllocator::kept
  uint32_t remainder = kNone;  // → ProfileAllocator::remainders
  uint64_t count = 1;
};

struct ProfileAllocator {
  std::string id;
  uint64_t event_count = 0;
  uint64_t allocation_count = 0;  // of all events
  uint64_t free_count = 0;
  uint64_t lifetime_peak_bytes = 0;
  uint32_t peak_row = kNone;     // the event at the peak; kNone without events
  uint64_t peak_used_bytes = 0;  // stack + heap there
  int64_t peak_time_ps = 0;
  uint64_t tied_count = 0;  // later events with an equal peak; only in the correct answer
  uint64_t capacity_bytes = 0;
  std::vector<ProfileSnapshot> sampled;  // at most 1,000, the highest of each box
  std::vector<ProfileSnapshot> kept;     // those that rows refer to, in row order
  std::vector<ProfileRemainder> remainders;
  std::vector<ProfileRow> rows;  // largest first
};

struct Profile {
  bool has_host_plane = false;
  std::vector<ProfileAllocator> allocators;
};

/// Reads values of events as XProf does (0 for what it cannot read, times from the start of the line) or as they are.
class ProfileView {
 public:
  ProfileView(const Store& store, bool as_xprof) : store_(store), details_(store.xplane.events), as_xprof_(as_xprof) {}

  int64_t TimePs(uint32_t row) const {
    return details_.time_ps[row] - (as_xprof_ ? store_.xplane.lines[details_.line[row]].begin_ps : 0);
  }
  uint64_t StackBytes(uint32_t row) const { return Seen(row, kBlindStack) ? details_.stack_bytes[row] : 0; }
  uint64_t HeapBytes(uint32_t row) const { return Seen(row, kBlindHeap) ? details_.heap_bytes[row] : 0; }
  uint64_t UsedBytes(uint32_t row) const { return StackBytes(row) + HeapBytes(row); }
  uint64_t FreeBytes(uint32_t row) const {
    const uint64_t free = details_.free_bytes[row];
    return Seen(row, kBlindFree) && free != kUnknownBytes ? free : 0;
  }
  uint64_t PeakBytes(uint32_t row) const { return Seen(row, kBlindPeak) ? details_.peak_bytes[row] : 0; }
  double Fragmentation(uint32_t row) const;
  uint64_t RequestedBytes(uint32_t row) const { return Seen(row, kBlindRequested) ? details_.requested_bytes[row] : 0; }
  uint64_t SizeBytes(uint32_t row) const { return Seen(row, kBlindSize) ? store_.events.size_bytes[row] : 0; }
  uint64_t Address(uint32_t row) const { return Seen(row, kBlindAddress) ? store_.events.addr[row] : 0; }
  std::string_view Op(uint32_t row) const { return Text(row, kBlindOp, details_.op); }
  std::string_view Region(uint32_t row) const { return Text(row, kBlindRegion, details_.region); }
  std::string_view Shape(uint32_t row) const { return Text(row, kBlindShape, details_.shape); }
  std::string_view DataType(uint32_t row) const {
    return Seen(row, kBlindDataType) ? store_.String(details_.data_type[row]) : std::string_view("INVALID");
  }
  /// kNoStep where the event has none.
  int64_t Step(uint32_t row) const;
  bool IsAllocation(uint32_t row) const { return store_.events.kind[row] == EventKind::kAlloc; }

 private:
  bool Seen(uint32_t row, uint16_t bit) const { return !as_xprof_ || (details_.blind[row] & bit) == 0; }
  std::string_view Text(uint32_t row, uint16_t bit, const Column<StringId>& column) const {
    return Seen(row, bit) ? store_.String(column[row]) : std::string_view{};
  }

  const Store& store_;
  const XPlaneEventTable& details_;
  bool as_xprof_;
};

/// A profile without allocators, for the source's plane facts.
Profile EmptyProfile(const Store& store, uint32_t source);
/// XProf's own answer for one source. Cost: O(n log r), r threads.
Profile XProfProfile(const Store& store, uint32_t source);
/// The correct answer for one source. Cost: O(n).
Profile CorrectProfile(const Store& store, uint32_t source);
/// The correct answer for one heap; it must be an XPlane heap. Cost: O(n).
ProfileAllocator CorrectAllocator(const Store& store, uint32_t heap);

/// Rows, kept snapshots and remainders of `allocator` at any event of a heap; they add up to stack + heap there.
/// Cost: O(n).
void BreakDown(const Store& store, const Heap& heap, uint32_t moment_row, ProfileAllocator& allocator);

/// Keeps the highest of each box as XProf does: at most 1,000 boxes of n / 1,000 or one more events.
std::vector<ProfileSnapshot> SampleHighest(const std::vector<ProfileSnapshot>& all, const ProfileView& view);
/// Sorts `blocks` by size, requested size, op, region, data type and shape, merges equal neighbours, and writes rows,
/// kept snapshots and remainders of `allocator`.
void MakeProfileRows(std::vector<ProfileSnapshot> blocks, std::vector<ProfileRemainder> remainders,
                     const ProfileView& view, ProfileAllocator& allocator);

}  // namespace memstrata
