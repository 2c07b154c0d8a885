#include "report/html/run_frames.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "query/answer_parts.h"
#include "report/html/plane_table.h"
#include "report/html/profile_events.h"
#include "report/html/run_kinds.h"

namespace memstrata {
namespace {

// Blocks are written in the order of the table, each as the difference from the one before.
void WriteLifetimes(FrameWriter& frame, SessionIndex& session, HeapEntry& heap, std::span<const uint32_t> rows,
                    const std::vector<uint32_t>& kind_of_row) {
  const AllocationTable& table = session.store().allocations;
  const Grouping& lifetimes = session.GroupingOf(heap, GroupBy::kLifetime);
  const uint64_t range_end = heap.heap_index.range_end();
  std::vector<uint64_t> row_number, begin, length, wait, kind, lifetime;
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint32_t row = rows[i];
    const uint64_t alloc_seq = table.alloc_seq[row] == kNone ? 0 : table.alloc_seq[row];
    const uint64_t end_seq = table.free_seq[row] == kNone ? range_end : table.free_seq[row];
    row_number.push_back(row);
    begin.push_back(CountOrNone(table.alloc_seq[row]));
    length.push_back(table.free_seq[row] == kNone ? 0 : end_seq - alloc_seq + 1);
    wait.push_back(table.free_requested_seq[row] == kNone ? 0 : end_seq - table.free_requested_seq[row] + 1);
    kind.push_back(kind_of_row[i]);
    lifetime.push_back(lifetimes.rows.group_of_row[row - heap.heap.allocations.begin]);
  }
  frame.StartTable("blocks", rows.size());
  WritePlanes(frame, "row", Differences(row_number));
  WritePlanes(frame, "begin", Differences(begin));
  WritePlanes(frame, "length", length);
  WritePlanes(frame, "wait", wait);
  WritePlanes(frame, "kind", kind);
  WritePlanes(frame, "lifetime", lifetime);
}

// The block and kind that an event is about, by the lifetimes alone: an allocation before a free that was asked for,
// that before a free.
struct EventOfBlock {
  uint32_t row = kNone;
  EventKind kind = EventKind::kUnknown;
};

std::vector<EventOfBlock> EventsOfBlocks(const Store& store, const Heap& heap, std::span<const uint32_t> rows) {
  std::vector<EventOfBlock> events(heap.events.size());
  const AllocationTable& table = store.allocations;
  const auto put = [&](const Column<uint32_t>& seqs, EventKind kind) {
    for (const uint32_t row : rows) {
      if (seqs[row] != kNone) events[seqs[row]] = {row, kind};
    }
  };
  put(table.free_seq, EventKind::kFreeCompleted);
  put(table.free_requested_seq, EventKind::kFreeRequested);
  put(table.alloc_seq, EventKind::kAlloc);
  return events;
}

// Events that the lifetimes do not tell: segments, out of memory, and whatever is otherwise than they would have it.
void WriteOtherEvents(FrameWriter& frame, const Store& store, const Heap& heap, std::span<const uint32_t> rows) {
  const std::vector<EventOfBlock> told = EventsOfBlocks(store, heap, rows);
  const EventTable& events = store.events;
  const AllocationTable& table = store.allocations;
  std::vector<uint64_t> seqs, kinds, streams, allocations, addresses, sizes;
  for (uint32_t seq = 0; seq < heap.events.size(); ++seq) {
    const uint32_t event = store.EventRow(heap, seq);
    const uint32_t row = events.allocation[event];
    const bool is_told = row != kNone && told[seq].row == row && told[seq].kind == events.kind[event] &&
                         events.addr[event] == table.addr[row] && events.size_bytes[event] == table.size_bytes[row] &&
                         events.stream[event] == table.stream[row];
    if (is_told) continue;
    // Of a part of the blocks, the events of all others are left out.
    if (row != kNone && !std::binary_search(rows.begin(), rows.end(), row)) continue;
    seqs.push_back(seq);
    kinds.push_back(static_cast<uint64_t>(events.kind[event]));
    streams.push_back(events.stream[event]);
    allocations.push_back(CountOrNone(row));
    addresses.push_back(events.addr[event]);
    sizes.push_back(events.size_bytes[event]);
  }
  frame.StartTable("events", seqs.size());
  WritePlanes(frame, "seq", Differences(seqs));
  WritePlanes(frame, "kind", kinds);
  WritePlanes(frame, "stream", streams);
  WritePlanes(frame, "allocation", allocations);
  frame.Values<uint64_t>("address", "address", addresses);
  frame.Bytes("size_bytes", sizes);
}

// Steps and phases as runs of events that have the same.
void WritePlaces(FrameWriter& frame, SessionIndex& session, HeapEntry& heap) {
  std::vector<uint64_t> begin, step;
  std::vector<std::string_view> phase;
  std::optional<Place> last;
  for (uint32_t seq = 0; seq < heap.heap.events.size(); ++seq) {
    const Place place = PlaceOf(session, heap, seq);
    if (last && last->step == place.step && last->phase == place.phase) continue;
    last = place;
    begin.push_back(seq);
    step.push_back(place.step ? uint64_t{*place.step} + 1 : 0);
    phase.push_back(place.phase.value_or(""));
  }
  frame.StartTable("places", begin.size());
  WritePlanes(frame, "begin", Differences(begin));
  WritePlanes(frame, "step", step);
  frame.Strings("phase", phase);
}

void WriteGroupings(FrameWriter& frame, SessionIndex& session, HeapEntry& heap) {
  JsonWriter& json = frame.attributes();
  json.Key("groupings");
  json.StartObject();
  for (size_t by = 0; by < std::size(kGroupByNames); ++by) {
    if (static_cast<GroupBy>(by) == GroupBy::kShape) continue;  // not one that the timeline is coloured by
    json.Key(kGroupByNames[by]);
    json.StartObject();
    WriteGroups(json, session.GroupingOf(heap, static_cast<GroupBy>(by)));
    json.EndObject();
  }
  json.EndObject();
}

void WritePools(FrameWriter& frame, const Store& store) {
  std::vector<uint64_t> first, second, is_private;
  for (const Pool& pool : store.pools) {
    first.push_back(pool.first);
    second.push_back(pool.second);
    is_private.push_back(pool.is_private() ? 1 : 0);
  }
  frame.StartTable("pools", first.size());
  WritePlanes(frame, "first", first);
  WritePlanes(frame, "second", second);
  WritePlanes(frame, "private", is_private);
}

// The largest power of two that divides all values, at least 1.
uint64_t CommonUnit(std::span<const uint64_t> values) {
  uint64_t bits = 0;
  for (const uint64_t value : values) bits |= value;
  return bits == 0 ? 1 : uint64_t{1} << std::countr_zero(bits);
}

}  // namespace

std::string RunFrame(SessionIndex& session, HeapEntry& heap, std::span<const uint32_t> rows) {
  const Store& store = session.store();
  FrameWriter frame("run");
  const Capabilities& has = heap.heap.capabilities;
  frame.attributes().Field("heap", heap.index);
  frame.attributes().Field("event_count", heap.heap.events.size());
  frame.attributes().Field("block_count", heap.heap.allocations.size());
  frame.attributes().Field("peak_event_count", heap.heap_index.LivePeak().moment.event_count);
  frame.attributes().Field("has_block_bytes", has.has_block_bytes);
  frame.attributes().Field("has_segments", has.has_segments);
  frame.attributes().Field("is_profile", store.HasXPlaneDetails(heap.heap));
  frame.attributes().Field("reserved_begin_bytes", heap.heap.reserved_begin_bytes);
  frame.attributes().Texts("categories", kCategoryNames);
  frame.attributes().Texts("event_kinds", kEventKindNames);
  WriteGroupings(frame, session, heap);
  RunKinds kinds(session, heap);
  std::vector<uint32_t> kind_of_row;
  kind_of_row.reserve(rows.size());
  for (const uint32_t row : rows) kind_of_row.push_back(kinds.Of(row));
  WriteLifetimes(frame, session, heap, rows, kind_of_row);
  kinds.Write(frame);
  WriteOtherEvents(frame, store, heap.heap, rows);
  WritePlaces(frame, session, heap);
  WritePools(frame, store);
  WriteProfileEvents(frame, store, heap.heap);
  return std::move(frame).Finish();
}

std::string AddressFrame(SessionIndex& session, HeapEntry& heap, std::span<const uint32_t> rows) {
  const Store& store = session.store();
  const AllocationTable& table = store.allocations;
  uint64_t lowest = UINT64_MAX;
  for (const uint32_t row : rows) lowest = std::min(lowest, table.addr[row]);
  std::vector<uint64_t> offsets;
  offsets.reserve(rows.size());
  for (const uint32_t row : rows) {
    // A remainder, which a profile tells by its bytes alone, lies nowhere.
    offsets.push_back(table.addr[row] == UINT64_MAX ? 0 : table.addr[row] - lowest);
  }
  const uint64_t unit = CommonUnit(offsets);
  for (size_t i = 0; i < rows.size(); ++i) offsets[i] = table.addr[rows[i]] == UINT64_MAX ? 0 : offsets[i] / unit + 1;
  FrameWriter frame("run_addresses");
  frame.attributes().Field("unit_bytes", unit);
  frame.StartTable("base", 1);
  frame.Values<uint64_t>("address", "address", std::vector<uint64_t>{lowest});
  frame.StartTable("blocks", rows.size());
  WritePlanes(frame, "offset", offsets);
  const SegmentTable& segments = store.segments;
  std::vector<uint64_t> address, size_bytes, begin, end, stream, kind, pool;
  for (uint32_t row = heap.heap.segments.begin; row < heap.heap.segments.end; ++row) {
    address.push_back(segments.addr[row]);
    size_bytes.push_back(segments.size_bytes[row]);
    begin.push_back(CountOrNone(segments.begin_seq[row]));
    end.push_back(CountOrNone(segments.end_seq[row]));
    stream.push_back(segments.stream[row]);
    kind.push_back(static_cast<uint64_t>(segments.kind[row]));
    pool.push_back(CountOrNone(segments.pool[row]));
  }
  frame.StartTable("segments", address.size());
  frame.Values<uint64_t>("address", "address", address);
  frame.Bytes("size_bytes", size_bytes);
  WritePlanes(frame, "begin", begin);
  WritePlanes(frame, "end", end);
  WritePlanes(frame, "stream", stream);
  WritePlanes(frame, "kind", kind);
  WritePlanes(frame, "pool", pool);
  return std::move(frame).Finish();
}

std::string TimesFrame(HeapEntry& heap) {
  const TimeAxis& time = heap.heap_index.Time();
  std::vector<uint64_t> offsets;
  for (uint32_t seq = 0; time.has_time() && seq < heap.heap.events.size(); ++seq)
    offsets.push_back(static_cast<uint64_t>(time.OffsetAt(seq).value_or(0)));
  const uint64_t unit = CommonUnit(offsets);
  for (uint64_t& offset : offsets) offset /= unit;
  FrameWriter frame("run_times");
  frame.attributes().Field("unit_ns", unit);
  frame.attributes().Field("last_offset", offsets.empty() ? 0 : offsets.back());
  frame.StartTable("events", offsets.size());
  WritePlanes(frame, "offset", Differences(offsets));
  return std::move(frame).Finish();
}

std::vector<uint32_t> WeightiestRows(const HeapEntry& heap, size_t most) {
  const AllocationTable& table = heap.store.allocations;
  std::vector<uint32_t> rows(heap.heap.allocations.size());
  std::iota(rows.begin(), rows.end(), heap.heap.allocations.begin);
  if (rows.size() <= most) return rows;
  const auto weight = [&](uint32_t row) {
    const uint64_t begin = table.alloc_seq[row] == kNone ? 0 : table.alloc_seq[row];
    const uint64_t end = table.free_seq[row] == kNone ? heap.heap.events.size() : table.free_seq[row];
    return static_cast<double>(table.size_bytes[row]) * static_cast<double>(end - std::min(begin, end) + 1);
  };
  std::nth_element(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(most), rows.end(), [&](uint32_t a, uint32_t b) {
    const double weight_a = weight(a);
    const double weight_b = weight(b);
    return weight_a != weight_b ? weight_a > weight_b : a < b;
  });
  rows.resize(most);
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace memstrata
