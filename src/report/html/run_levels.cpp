#include "report/html/run_levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "query/answer_parts.h"
#include "report/html/plane_table.h"

namespace memstrata {
namespace {

// Blocks summed up.
struct BlockSum {
  uint64_t bytes = 0;
  uint64_t count = 0;
  uint32_t largest_row = kNone;

  void Add(const AllocationTable& table, uint32_t row) {
    bytes += table.size_bytes[row];
    ++count;
    if (largest_row == kNone || table.size_bytes[row] > table.size_bytes[largest_row]) largest_row = row;
  }
};

// Of each part of the run the event with the highest live bytes, and the last one.
std::vector<uint64_t> KeptEvents(HeapIndex& index, uint32_t event_count, uint32_t part_count) {
  std::vector<uint64_t> seqs;
  for (uint64_t part = 0; part < part_count; ++part) {
    const auto begin = static_cast<uint32_t>(event_count * part / part_count);
    const auto end = static_cast<uint32_t>(event_count * (part + 1) / part_count);
    const uint32_t highest = index.Live().extremes.Find(begin, end).max_index;
    if (highest != end - 1) seqs.push_back(highest);
    seqs.push_back(end - 1);
  }
  return seqs;
}

// How much was allocated or freed until each of the events.
void WriteTotals(FrameWriter& frame, std::string_view name, const HeapEntry& heap, const Column<uint32_t>& when,
                 const std::vector<uint64_t>& seqs) {
  std::vector<uint64_t> bytes(seqs.size() + 1, 0);
  std::vector<uint64_t> counts(seqs.size() + 1, 0);
  for (uint32_t row = heap.heap.allocations.begin; row < heap.heap.allocations.end; ++row) {
    if (when[row] == kNone) continue;
    const auto at = static_cast<size_t>(std::lower_bound(seqs.begin(), seqs.end(), when[row]) - seqs.begin());
    bytes[at] += heap.store.allocations.size_bytes[row];
    ++counts[at];
  }
  // Each is the difference from the event before.
  bytes.pop_back();
  counts.pop_back();
  WritePlanes(frame, fmt::format("{}_bytes", name), bytes);
  WritePlanes(frame, fmt::format("{}_count", name), counts);
}

void WriteSums(FrameWriter& frame, std::string_view name, const AllocationTable& table,
               std::span<const BlockSum> sums) {
  std::vector<uint64_t> key, bytes, count, largest, largest_bytes, begin;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].count == 0) continue;
    const uint32_t row = sums[i].largest_row;
    key.push_back(i);
    bytes.push_back(sums[i].bytes);
    count.push_back(sums[i].count);
    largest.push_back(row);
    largest_bytes.push_back(table.size_bytes[row]);
    begin.push_back(CountOrNone(table.alloc_seq[row]));
  }
  frame.StartTable(name, key.size());
  WritePlanes(frame, "key", Differences(key));
  WritePlanes(frame, "bytes", bytes);
  WritePlanes(frame, "count", count);
  WritePlanes(frame, "largest", largest);
  WritePlanes(frame, "largest_bytes", largest_bytes);
  WritePlanes(frame, "begin", begin);
}

}  // namespace

std::string LevelsFrame(SessionIndex& session, HeapEntry& heap, uint32_t most) {
  HeapIndex& index = heap.heap_index;
  const AllocationTable& table = heap.store.allocations;
  const Capabilities& has = heap.heap.capabilities;
  const uint32_t event_count = heap.heap.events.size();
  const uint32_t part_count = std::min(event_count, std::max(1U, most / 2));
  const std::vector<uint64_t> seqs = KeptEvents(index, event_count, part_count);
  FrameWriter frame("run_levels");
  frame.attributes().Field("event_count", event_count);
  frame.attributes().Field("part_count", part_count);
  frame.StartTable("levels", seqs.size());
  WritePlanes(frame, "seq", Differences(seqs));
  const auto write = [&](std::string_view name, auto&& bytes_at) {
    std::vector<uint64_t> values;
    for (const uint64_t seq : seqs) values.push_back(bytes_at(Moment::AfterEvent(static_cast<uint32_t>(seq))));
    WritePlanes(frame, name, Differences(values));
  };
  write("live", [&](Moment at) { return index.Live().curve.At(at); });
  if (has.has_block_bytes) write("block", [&](Moment at) { return index.Block().curve.At(at); });
  if (has.has_segments) write("reserved", [&](Moment at) { return index.Reserved().curve.At(at); });
  write("pending", [&](Moment at) { return PendingBytesAt(heap, at); });
  WriteTotals(frame, "allocated", heap, table.alloc_seq, seqs);
  WriteTotals(frame, "freed", heap, table.free_seq, seqs);
  std::vector<BlockSum> by_stack(session.store().stacks.stacks().size());
  std::array<BlockSum, std::size(kCategoryNames)> by_category;
  for (uint32_t row = heap.heap.allocations.begin; row < heap.heap.allocations.end; ++row) {
    by_stack[table.stack[row].value].Add(table, row);
    by_category[static_cast<size_t>(session.CategoryOfRow()[row])].Add(table, row);
  }
  WriteSums(frame, "stack_sums", table, by_stack);
  WriteSums(frame, "category_sums", table, by_category);
  return std::move(frame).Finish();
}

}  // namespace memstrata
