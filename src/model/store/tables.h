#pragma once
// The tables of a session: struct of arrays, row number = id, rows of one heap contiguous. Sizes are bytes and times
// nanoseconds since the Unix epoch unless a column says otherwise. What each column means to a user of `convert` stands
// in query/tables/, one description per table.
//
// Cost: 41 bytes an event, 59 bytes an allocation; 10 M events with 3.3 M lifetimes ≈ 0.6 GB.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/column.h"
#include "model/table/id.h"

namespace memstrata {

enum class EventKind : uint8_t {
  kAlloc,          // a block was handed to the program
  kFreeRequested,  // the program gave it back
  kFreeCompleted,  // it can be used again (later than the request when another stream still uses it)
  kSegmentAlloc,
  kSegmentFree,
  kSegmentMap,
  kSegmentUnmap,
  kOutOfMemory,
  kSnapshot,
  kMark,     // annotation of a live block or of a moment
  kUnknown,  // an action this build does not know; counted in a diagnostic
};
inline constexpr std::string_view kEventKindNames[] = {
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap",
    "oom",   "snapshot",       "mark",           "unknown",
};

/// One allocator event; `seq` = row - heap.events.begin, in recorded order, which is the only exact order.
struct EventTable {
  Column<EventKind> kind;
  Column<uint64_t> addr;        // out of memory: free bytes of the device, kUnknownBytes if not said
  Column<uint64_t> size_bytes;  // as requested
  Column<int64_t> time_ns;      // empty when the format has no times; kNoTime in single rows
  Column<uint32_t> stream;      // → Store::streams
  Column<StackId> stack;
  Column<uint32_t> allocation;  // → AllocationTable for alloc and free events, else kNone
  Column<uint32_t> context;     // → Store::contexts; empty when no event has one
  Column<uint32_t> pool;        // → Store::pools; empty when events carry no pool

  size_t size() const { return kind.size(); }
};

enum AllocationFlag : uint8_t {
  kPreexisting = 1,        // lived before the first recorded event
  kFreeUnmatched = 2,      // known only by its free: the allocation was not recorded
  kDisplaced = 4,          // ended because its address was allocated again: its free was not recorded
  kGhost = 8,              // live at the end by the events, but no block of the final state explains it
  kBlockApproximate = 16,  // block_bytes follows from rounding rules, it was not recorded
  kReservedStack = 32      // no block of the allocator: what the runtime reserved beside it, until the next change
};

/// One lifetime of a block.
struct AllocationTable {
  Column<uint64_t> addr;
  Column<uint64_t> size_bytes;          // as requested
  Column<uint64_t> block_bytes;         // kUnknownBytes where neither recorded nor derivable
  Column<uint32_t> alloc_seq;           // kNone: preexisting
  Column<uint32_t> free_requested_seq;  // kNone: not requested within the recording
  Column<uint32_t> free_seq;            // when it stopped being live; kNone: live at the end
  Column<StackId> stack;
  Column<StackId> free_stack;
  Column<uint32_t> stream;
  Column<uint32_t> pool;
  Column<uint8_t> flags;  // AllocationFlag

  size_t size() const { return addr.size(); }
};

enum class SegmentKind : uint8_t { kUnknown, kSmall, kLarge, kExpandable };
inline constexpr std::string_view kSegmentKindNames[] = {"unknown", "small", "large", "expandable"};

/// One reserved range's lifetime. Ranges cut by a partial unmap are several rows; neighbouring mapped ranges of an
/// expandable segment stay apart, since each has its own beginning.
struct SegmentTable {
  Column<uint64_t> addr;
  Column<uint64_t> size_bytes;
  Column<SegmentKind> kind;
  Column<uint32_t> begin_seq;  // kNone: reserved before the first event
  Column<uint32_t> end_seq;    // kNone: reserved at the end
  Column<uint32_t> stream;
  Column<uint32_t> pool;
  Column<StackId> stack;

  size_t size() const { return addr.size(); }
};

/// One segment of the state at the end of the recording, as the allocator reported it.
struct FinalSegmentTable {
  Column<uint64_t> addr;
  Column<uint64_t> size_bytes;
  Column<SegmentKind> kind;
  Column<uint32_t> stream;
  Column<uint32_t> pool;
  Column<StackId> stack;
  Column<uint32_t> block_begin;  // its blocks are rows [block_begin, block_end) of BlockTable
  Column<uint32_t> block_end;

  size_t size() const { return addr.size(); }
};

enum class BlockState : uint8_t { kActive, kPendingFree, kInactive, kUnknown };
inline constexpr std::string_view kBlockStateNames[] = {"active", "pending_free", "inactive", "unknown"};

/// One block of the state at the end of the recording; blocks tile their segment.
struct BlockTable {
  Column<uint64_t> addr;
  Column<uint64_t> size_bytes;       // rounded
  Column<uint64_t> requested_bytes;  // kUnknownBytes for inactive blocks: what the file says there is stale
  Column<BlockState> state;
  Column<uint32_t> segment;     // → FinalSegmentTable
  Column<uint32_t> allocation;  // → AllocationTable, kNone for inactive blocks
  Column<StackId> stack;

  size_t size() const { return addr.size(); }
};

enum class SpanKind : uint8_t { kAnnotation, kStep, kPhase, kModule, kKernel };
inline constexpr std::string_view kSpanKindNames[] = {"annotation", "step", "phase", "module", "kernel"};

/// A named range of time.
struct SpanTable {
  Column<StringId> name;
  Column<SpanKind> kind;
  Column<int64_t> begin_ns;    // kNoTime: its start was not recorded
  Column<int64_t> end_ns;      // kNoTime: its end was not recorded
  Column<uint32_t> heap;       // kNone: of the whole session
  Column<uint32_t> begin_seq;  // first event of the heap at or after begin_ns; kNone without a heap or times
  Column<uint32_t> end_seq;    // one after its last event
  Column<uint16_t> depth;      // nesting, 0 = outermost
  Column<uint32_t> track;      // → device or line of the source

  size_t size() const { return name.size(); }
};

/// [begin, end) in a table.
struct RowRange {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t size() const { return end - begin; }
};

enum class HeapKind : uint8_t { kDevice, kHost };
inline constexpr std::string_view kHeapKindNames[] = {"device", "host"};
enum class TimeBase : uint8_t { kUnix, kCapture };
inline constexpr std::string_view kTimeBaseNames[] = {"unix", "capture"};

/// What a heap's source recorded. Analyses and views state what they need, and the output says why something is
/// missing.
struct Capabilities {
  bool has_time = false;
  bool has_stacks = false;  // some event or block carries frames
  bool has_events = false;
  bool has_block_bytes = false;   // block sizes are known or derivable
  bool has_segments = false;      // the reserved state at the end is known
  bool complete_history = false;  // the trace reaches back to its first event: nothing was overwritten
};

/// Why a heap's highest moment may lie outside what was recorded.
enum class LowerBoundReason : uint8_t { kExact, kNoEvents, kRingOverflow, kLateStart, kTruncated, kUnseenThreads };

/// Why the device was asked at that moment.
enum class SampleReason : uint8_t { kBegin, kStep, kOutOfMemory, kEnd, kOther };
inline constexpr std::string_view kSampleReasonNames[] = {"begin", "step", "oom", "end", "other"};

/// What the device said at one moment, beside what the framework held then.
struct DeviceSample {
  int64_t time_ns = kNoTime;
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;     // of the device
  uint64_t reserved_bytes = 0;  // by the allocator of the heap
  SampleReason reason = SampleReason::kOther;
  uint32_t step = kNone;  // steps that the program had ended by then; kNone: not said
};

/// One memory space of one allocator.
struct Heap {
  std::string id;         // "cuda:0"; unique in the session
  std::string allocator;  // "torch_caching", "bfc", …
  std::string host;       // of a multi-host session; empty = not known
  HeapKind kind = HeapKind::kDevice;
  TimeBase time_base = TimeBase::kUnix;
  uint32_t device = 0;
  uint32_t source = 0;  // → Store::sources
  uint64_t capacity_bytes = kUnknownBytes;
  RowRange events;
  RowRange allocations;
  RowRange segments;
  RowRange final_segments;
  RowRange blocks;
  uint64_t reserved_begin_bytes = 0;          // Σ segments before the first event; meaningless without has_segments
  uint64_t lost_event_count = kUnknownBytes;  // overwritten in a full ring buffer; kUnknownBytes = not said
  LowerBoundReason lower_bound = LowerBoundReason::kExact;
  Capabilities capabilities;
  std::vector<DeviceSample> device_samples;  // by time; empty where nobody asked the device
};

struct Source {
  std::string file;    // as named by the user
  std::string format;  // id of the reader
  std::string title;   // of the format, for people
  uint64_t size_bytes = 0;
  bool truncated = false;
  std::vector<std::pair<std::string, std::string>> metadata;  // allocator settings and the like, in file order
};

/// Key of metadata: names of threads that ran and that a capture could not see (LowerBoundReason::kUnseenThreads).
inline constexpr std::string_view kUnseenThreadsKey = "capture.unseen_threads";

/// A group of blocks that only serves its own users; (0, 0) is the default pool of the PyTorch allocator.
struct Pool {
  uint64_t first = 0;
  uint64_t second = 0;
  bool is_private() const { return first != 0 || second != 0; }
  bool operator==(const Pool&) const = default;
};

/// Labels that were active on the thread of an event.
struct EventContext {
  StringId compile_context;
  StringId user_metadata;
  StringId category;      // given by the program that wrote the file
  StackId forward_stack;  // of the forward operation that made the autograd node
  bool operator==(const EventContext&) const = default;
};

enum class Severity : uint8_t { kInfo, kWarning, kDataLoss, kError };
inline constexpr std::string_view kSeverityNames[] = {"info", "warning", "data_loss", "error"};

/// A problem that reading went on after: nothing is dropped silently.
struct Diagnostic {
  Severity severity = Severity::kInfo;
  std::string code;  // stable, snake_case
  uint64_t count = 0;
  uint64_t first_offset = kUnknownBytes;  // byte in the unwrapped source
  uint32_t source = 0;
  std::string text;  // a sentence for people
};

/// Something a user may miss, why it is not there, and how to get it next time.
struct Missing {
  std::string what;
  std::string why;
  std::string how_to_get;
};

}  // namespace memstrata
