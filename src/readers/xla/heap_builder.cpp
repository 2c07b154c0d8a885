#include "readers/xla/heap_builder.h"

#include <algorithm>
#include <tuple>

#include "base/parallel.h"
#include "model/ingest/allocation_tracker.h"
#include "model/store/preexisting_block.h"
#include "readers/xla/event_sequence.h"
#include "readers/xla/memory_ids.h"

namespace memstrata::xla {
namespace {

// Rows of all memory IDs after each other, each ID's in file order; begins[i] is where ID i starts.
struct Partition {
  std::vector<uint32_t> rows;
  std::vector<uint32_t> begins;
};

Partition PartitionByMemoryId(const DecodedEvents& events, std::span<const uint32_t> id_order) {
  std::vector<uint32_t> counts(events.memory_ids.size(), 0);
  for (const uint32_t id : events.memory_id.span()) ++counts[id];
  Partition partition;
  partition.rows.resize(events.size());
  std::vector<uint32_t> next(counts.size(), 0);
  uint32_t begin = 0;
  for (const uint32_t id : id_order) {
    partition.begins.push_back(begin);
    next[id] = begin;
    begin += counts[id];
  }
  partition.begins.push_back(begin);
  for (uint32_t row = 0; row < events.size(); ++row) partition.rows[next[events.memory_id[row]]++] = row;
  return partition;
}

// Brings columns into an order. The memory of a column that was gathered takes the next one of its type: pages that
// are touched for the first time cost more than the copying does.
class Gatherer {
 public:
  explicit Gatherer(std::span<const uint32_t> order) : order_(order) {}

  /// Appends the values of `from` to `into` and leaves `from` empty.
  template <class T>
  void Move(Column<T>& into, Column<T>& from) {
    Column<T>& spare = std::get<Column<T>>(spares_);
    Column<T>& target = into.empty() ? spare : into;
    target.ReserveMore(order_.size());
    T* at = target.data() + target.size();
    const T* const values = from.data();
    for (const uint32_t row : order_) *at++ = values[row];
    target.SetFilled(target.size() + order_.size());
    if (into.empty()) into = std::move(spare);
    spare = std::move(from);
    spare.Truncate(0);
  }

 private:
  std::span<const uint32_t> order_;
  std::tuple<Column<int64_t>, Column<uint64_t>, Column<uint32_t>, Column<double>, Column<StringId>, Column<uint16_t>,
             Column<uint8_t>>
      spares_;
};

// Rows that other sources put into the events table have no details.
void AlignDetails(XPlaneEventTable& details, size_t rows) {
  details.time_ps.Resize(rows, kNoTime);
  details.line.Resize(rows, kNone);
  details.file_order.Resize(rows, kNone);
  for (Column<uint64_t>* column : {&details.stack_bytes, &details.heap_bytes, &details.free_bytes, &details.peak_bytes,
                                   &details.requested_bytes}) {
    column->Resize(rows, kUnknownBytes);
  }
  details.fragmentation.Resize(rows, 0);
  for (Column<StringId>* column : {&details.op, &details.region, &details.data_type, &details.shape}) {
    column->Resize(rows, StringId{0});
  }
  details.step.Resize(rows, kNoStep);
  if (!details.xprof_step.empty()) details.xprof_step.Resize(rows, kNoStep);
  details.blind.Resize(rows, 0);
  details.nan.Resize(rows, 0);
}

void GatherDetails(XPlaneEventTable& into, XPlaneEventTable& from, std::span<const uint32_t> order,
                   Gatherer& gatherer) {
  into.file_order.Append(order);
  gatherer.Move(into.time_ps, from.time_ps);
  gatherer.Move(into.line, from.line);
  gatherer.Move(into.heap_bytes, from.heap_bytes);
  gatherer.Move(into.free_bytes, from.free_bytes);
  gatherer.Move(into.peak_bytes, from.peak_bytes);
  gatherer.Move(into.requested_bytes, from.requested_bytes);
  gatherer.Move(into.fragmentation, from.fragmentation);
  gatherer.Move(into.op, from.op);
  gatherer.Move(into.region, from.region);
  gatherer.Move(into.data_type, from.data_type);
  gatherer.Move(into.shape, from.shape);
  if (!from.xprof_step.empty()) {
    // Sources before this one have the same steps in both numberings.
    for (size_t row = into.xprof_step.size(); row < into.step.size(); ++row) into.xprof_step.PushBack(into.step[row]);
    gatherer.Move(into.xprof_step, from.xprof_step);
  } else if (!into.xprof_step.empty()) {
    for (const uint32_t row : order) into.xprof_step.PushBack(from.step[row]);
  }
  gatherer.Move(into.step, from.step);
  gatherer.Move(into.blind, from.blind);
  gatherer.Move(into.nan, from.nan);
}

// Operations as call stacks of one frame, so that everything that groups by stack groups by operation.
class OperationStacks {
 public:
  explicit OperationStacks(Store& store) : store_(store) {}

  StackId Of(StringId op) {
    if (op.value >= stacks_.size()) stacks_.resize(op.value + 1, kUnknown);
    StackId& stack = stacks_[op.value];
    if (stack.value == kUnknown.value) stack = Make(op);
    return stack;
  }

 private:
  static constexpr StackId kUnknown{kNone};

  StackId Make(StringId op) const {
    const std::string_view name = store_.strings.Get(op);
    if (name.empty() || name == "(null)") return StackId{0};
    const FrameId frame = store_.stacks.InternFrame(op, StringId{0}, 0, FrameKind::kUnknown);
    return store_.stacks.InternStack({&frame, 1});
  }

  Store& store_;
  std::vector<StackId> stacks_;  // by operation
};

void GatherEvents(Store& store, DecodedEvents& events, std::span<const uint32_t> order, int64_t unix_begin_ns,
                  uint32_t stream) {
  EventTable& into = store.events;
  OperationStacks stacks(store);
  into.time_ns.Resize(into.kind.size(), kNoTime);
  for (const uint32_t row : order) {
    const bool is_allocation = events.is_allocation[row] != 0;
    into.kind.PushBack(is_allocation ? EventKind::kAlloc : EventKind::kFreeCompleted);
    into.stack.PushBack(is_allocation ? stacks.Of(events.details.op[row]) : StackId{0});
    const int64_t time_ps = events.details.time_ps[row];
    const int64_t floor_ns = time_ps >= 0 ? time_ps / 1000 : -((-time_ps + 999) / 1000);
    into.time_ns.PushBack(unix_begin_ns + floor_ns);
  }
  events.is_allocation = {};
  Gatherer gatherer(order);
  gatherer.Move(into.addr, events.addr);
  gatherer.Move(into.size_bytes, events.size_bytes);
  into.stream.Resize(into.kind.size(), stream);
}

StackId NameOfReservedStack(Store& store) {
  const FrameId frame = store.stacks.InternFrame(store.strings.Intern("stack reserved by the runtime"), StringId{0}, 0,
                                                 FrameKind::kUnknown);
  return store.stacks.InternStack({&frame, 1});
}

LowerBoundReason WhyLowerBound(const HeapFigures& figures, bool truncated) {
  if (truncated) return LowerBoundReason::kTruncated;
  return figures.lifetime_peak_bytes > figures.window_peak_bytes ? LowerBoundReason::kLateStart
                                                                 : LowerBoundReason::kExact;
}

Heap MakeHeap(const MemoryId& id, std::string_view name, const HeapContext& context, const HeapFigures& figures) {
  Heap heap;
  heap.id = name;
  heap.allocator = AllocatorOf(name, id.is_device_number);
  heap.host = context.host;
  heap.kind = IsHostMemory(name) ? HeapKind::kHost : HeapKind::kDevice;
  heap.time_base = context.unix_begin_ns != 0 ? TimeBase::kUnix : TimeBase::kCapture;
  heap.device = DeviceOf(name);
  heap.capacity_bytes = figures.capacity_bytes;
  heap.lost_event_count = figures.jump_count == 0 ? 0 : kUnknownBytes;
  heap.lower_bound = WhyLowerBound(figures, context.truncated);
  heap.capabilities.has_time = true;
  heap.capabilities.has_events = true;
  heap.capabilities.has_block_bytes = true;
  return heap;
}

// What lived before the first event and is not freed one by one is one block without an address.
void AppendRestBeforeRecording(uint64_t preexisting_bytes, StoreBuilder& builder, Heap& heap) {
  AllocationTable& table = builder.store().allocations;
  uint64_t known_bytes = 0;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    if (table.alloc_seq[row] == kNone) known_bytes += table.size_bytes[row];
  }
  if (preexisting_bytes <= known_bytes) return;
  const uint64_t rest_bytes = preexisting_bytes - known_bytes;
  AppendPreexisting(table, {.size_bytes = rest_bytes, .block_bytes = rest_bytes});
  ++heap.allocations.end;
}

void NoteJumps(const HeapFigures& figures, DiagnosticLog& log) {
  if (figures.jump_count == 0) return;
  log.Note(Severity::kDataLoss, "heap_jump",
           "The heap changes by another amount than the size of the event: events between are missing from the trace.",
           kUnknownBytes, figures.jump_count);
}

// Blocks of the heaps from `first_heap` on. Of the details of events it reads the stack alone.
Status PairEvents(const std::vector<HeapFigures>& figures, uint32_t first_heap, StoreBuilder& builder) {
  for (size_t i = 0; i < figures.size(); ++i) {
    Heap& heap = builder.store().heaps[first_heap + i];
    AllocationTracker tracker(builder, heap, nullptr);
    const std::span<const uint64_t> levels =
        builder.store().xplane.events.stack_bytes.span().subspan(heap.events.begin, heap.events.size());
    if (std::any_of(levels.begin(), levels.end(), [](uint64_t bytes) { return bytes != 0; }))
      tracker.set_reserved_stack(levels, NameOfReservedStack(builder.store()));
    MEMSTRATA_ASSIGN_OR_RETURN(const PairingResult pairing, tracker.Run(nullptr));
    AppendRestBeforeRecording(figures[i].preexisting_bytes, builder, heap);
    const std::span<const StackId> operations =
        builder.store().events.stack.span().subspan(heap.events.begin, heap.events.size());
    heap.capabilities.has_stacks =
        std::any_of(operations.begin(), operations.end(), [](StackId stack) { return stack.value != 0; });
    heap.capabilities.complete_history =
        figures[i].preexisting_bytes == 0 && figures[i].jump_count == 0 && pairing.preexisting_count == 0;
  }
  return {};
}

}  // namespace

Status BuildHeaps(DecodedEvents events, const HeapContext& context, StoreBuilder& builder) {
  Store& store = builder.store();
  const std::vector<uint32_t> id_order = DisplayOrder(events.memory_ids, store.strings);
  Partition partition = PartitionByMemoryId(events, id_order);
  const auto first_row = static_cast<uint32_t>(store.events.size());
  const auto first_heap = static_cast<uint32_t>(store.heaps.size());
  // The rows of one memory ID are no other's.
  std::vector<HeapFigures> figures(id_order.size());
  ForEachInParallel(id_order.size(), [&](size_t i) {
    const std::span<uint32_t> rows(partition.rows.data() + partition.begins[i],
                                   partition.begins[i + 1] - partition.begins[i]);
    figures[i] = SequenceEvents(rows, events);
  });
  for (size_t i = 0; i < id_order.size(); ++i) {
    const MemoryId& id = events.memory_ids[id_order[i]];
    Heap heap = MakeHeap(id, store.strings.Get(id.name), context, figures[i]);
    heap.source = builder.current_source();
    heap.events = {first_row + partition.begins[i], first_row + partition.begins[i + 1]};
    store.xplane.memory_ids.resize(store.heaps.size(), StringId{0});
    store.xplane.memory_ids.push_back(id.name);
    store.heaps.push_back(std::move(heap));
    NoteJumps(figures[i], builder.diagnostics());
  }
  AlignDetails(store.xplane.events, first_row);
  GatherEvents(store, events, partition.rows, context.unix_begin_ns, builder.InternStream(0));
  Gatherer gatherer(partition.rows);
  gatherer.Move(store.xplane.events.stack_bytes, events.details.stack_bytes);  // which pairing reads
  Status status;
  RunBoth([&] { status = PairEvents(figures, first_heap, builder); },
          [&] { GatherDetails(store.xplane.events, events.details, partition.rows, gatherer); });
  return status;
}

}  // namespace memstrata::xla
