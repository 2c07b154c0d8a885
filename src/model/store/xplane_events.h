#pragma once
// What an XPlane profile (XProf, JAX, TensorFlow) says about each memory event besides address, size and time. Rows are
// aligned with EventTable: row r here is event r there. Empty when no source of the session is an XPlane profile.
//
// In the events table of such a heap `size_bytes` is the size of the chunk (XLA's allocation_bytes), and `time_ns` is
// rounded down from `time_ps`. Enough is kept to print XProf's own JSON, with XProf's own mistakes, from the store
// alone. Cost: 90 bytes an event.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/column.h"
#include "model/table/id.h"

namespace memstrata {

/// Why XProf sees another value than the file holds: it reads each statistic in one encoding only and takes anything
/// else as 0 or empty. A set bit means "XProf reads this field as 0 or empty".
enum XProfBlind : uint16_t {
  kBlindStack = 1 << 0,
  kBlindHeap = 1 << 1,
  kBlindFree = 1 << 2,
  kBlindFragmentation = 1 << 3,
  kBlindPeak = 1 << 4,
  kBlindRequested = 1 << 5,
  kBlindSize = 1 << 6,  // also: the file gives no size, it was taken from the matching allocation
  kBlindAddress = 1 << 7,
  kBlindOp = 1 << 8,
  kBlindRegion = 1 << 9,
  kBlindDataType = 1 << 10,
  kBlindShape = 1 << 11,
  kBlindStep = 1 << 12,
  kBlindMemoryIdEmpty = 1 << 13,  // XProf puts the event under the memory ID ""
  kBlindMemoryIdZero = 1 << 14,   // … under the memory ID "0"
};

inline constexpr int64_t kNoStep = INT64_MIN;

struct XPlaneEventTable {
  Column<int64_t> time_ps;       // since the profiler's time zero: start of the line + offset in it
  Column<uint32_t> line;         // → XPlaneTable::lines
  Column<uint32_t> file_order;   // position among the memory events of its source, as written
  Column<uint64_t> stack_bytes;  // reserved for the running program (bytes_reserved)
  Column<uint64_t> heap_bytes;   // handed out after this event (bytes_allocated)
  Column<uint64_t> free_bytes;   // limit - stack - heap; kUnknownBytes where the allocator does not say
  Column<uint64_t> peak_bytes;   // highest heap since the allocator was made
  Column<uint64_t> requested_bytes;
  Column<double> fragmentation;  // 1 - largest free chunk / all free bytes of the pool; 0 when nothing is free
  Column<StringId> op;
  Column<StringId> region;
  Column<StringId> data_type;
  Column<StringId> shape;
  Column<int64_t> step;        // group_id, or found by grouping; kNoStep where the event is in no step
  Column<int64_t> xprof_step;  // as XProf numbers it; empty when equal to `step`
  Column<uint16_t> blind;      // XProfBlind
  Column<uint8_t> nan;         // 1: the file says NaN for the fragmentation

  size_t size() const { return time_ps.size(); }
};

/// One thread of a plane.
struct XPlaneLine {
  int64_t begin_ps = 0;  // from the profiler's time zero; XProf's own times count from here
  uint32_t source = 0;
  bool is_first_host_plane = false;  // XProf reads no other
  StringId name;
};

/// One run of a compiled program as its host thread saw it: from the call to its return. The program's memory is
/// allocated, and its temporaries are freed, in it.
struct XPlaneLaunch {
  StringId module;  // "jit_f", without the program's number
  std::optional<uint64_t> program_id;
  uint32_t source = 0;
  uint32_t line = 0;     // → lines
  int64_t begin_ps = 0;  // from the profiler's time zero
  int64_t end_ps = 0;
};

/// One run of a compiled program on a device: an event of a line "XLA Modules", or the kernels of one launch.
struct XPlaneModule {
  StringId name;
  StringId plane;
  uint32_t source = 0;
  int64_t line_begin_ps = 0;  // from the profiler's time zero
  int64_t offset_ps = 0;
  int64_t duration_ps = 0;
  bool is_tpu = false;    // XProf lists only these
  uint32_t span = kNone;  // → SpanTable
};

/// What else an XPlane source holds; one per XPlane source.
struct XPlaneSource {
  uint32_t source = 0;
  std::string host;
  bool has_host_plane = false;     // a plane named exactly "/host:CPU"
  int64_t unix_begin_ns = 0;       // profiler time zero on the Unix clock; 0 = not known
  uint64_t other_event_count = 0;  // events of host planes that are not about memory
  std::vector<std::string> planes;
  std::vector<std::pair<std::string, uint64_t>> device_memory_bytes;  // plane, memory_size
};

struct XPlaneTable {
  XPlaneEventTable events;
  std::vector<XPlaneLine> lines;
  std::vector<XPlaneModule> modules;
  std::vector<XPlaneLaunch> launches;  // of each source by begin
  std::vector<XPlaneSource> sources;
  std::vector<StringId> memory_ids;  // by heap: its ID in the file, without the host; 0 = no XPlane heap
};

}  // namespace memstrata
