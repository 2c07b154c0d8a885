#include "model/ingest/segment_tracker.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace memstrata {

uint32_t SegmentTracker::AddRow(uint64_t addr, uint64_t size_bytes, SegmentKind kind, uint32_t begin_seq,
                                uint32_t stream, uint32_t pool, StackId stack) {
  table_.addr.PushBack(addr);
  table_.size_bytes.PushBack(size_bytes);
  table_.kind.PushBack(kind);
  table_.begin_seq.PushBack(begin_seq);
  table_.end_seq.PushBack(kNone);
  table_.stream.PushBack(stream);
  table_.pool.PushBack(pool);
  table_.stack.PushBack(stack);
  return static_cast<uint32_t>(table_.size()) - 1;
}

void SegmentTracker::Run(bool final_known) {
  const EventTable& events = builder_.store().events;
  heap_.segments.begin = static_cast<uint32_t>(table_.size());
  int64_t net_bytes = 0;
  for (uint32_t row = heap_.events.begin; row < heap_.events.end; ++row) {
    const EventKind kind = events.kind[row];
    if (kind < EventKind::kSegmentAlloc || kind > EventKind::kSegmentUnmap) continue;
    const uint32_t seq = row - heap_.events.begin;
    const bool mapped = kind == EventKind::kSegmentMap || kind == EventKind::kSegmentUnmap;
    if (kind == EventKind::kSegmentAlloc || kind == EventKind::kSegmentMap) {
      Reserve(row, seq, mapped);
      net_bytes += static_cast<int64_t>(events.size_bytes[row]);
    } else {
      Release(row, seq, mapped);
      net_bytes -= static_cast<int64_t>(events.size_bytes[row]);
    }
  }
  if (final_known) {
    uint64_t final_bytes = 0;
    const FinalSegmentTable& finals = builder_.store().final_segments;
    for (uint32_t row = heap_.final_segments.begin; row < heap_.final_segments.end; ++row)
      final_bytes += finals.size_bytes[row];
    ExplainFinalSegments();
    NoteSum(final_bytes, net_bytes);
  }
  heap_.segments.end = static_cast<uint32_t>(table_.size());
}

void SegmentTracker::Reserve(uint32_t row, uint32_t seq, bool mapped) {
  const EventTable& events = builder_.store().events;
  const uint64_t addr = events.addr[row];
  const uint32_t pool = events.pool.empty() ? kNone : events.pool[row];
  const uint32_t made = AddRow(addr, events.size_bytes[row], mapped ? SegmentKind::kExpandable : SegmentKind::kUnknown,
                               seq, events.stream[row], pool, events.stack[row]);
  const auto [entry, is_new] = open_.try_emplace(addr, Open{events.size_bytes[row], made});
  if (is_new) return;
  builder_.diagnostics().Note(
      Severity::kWarning, "reserved_twice",
      "Segments were reserved at an address that was still reserved: the release before it was not recorded.");
  table_.end_seq[entry->second.row] = seq;
  entry->second = {events.size_bytes[row], made};
}

// The first open range that ends after `addr`.
SegmentTracker::OpenMap::iterator SegmentTracker::FirstTouching(uint64_t addr) {
  auto at = open_.upper_bound(addr);
  if (at != open_.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second.size_bytes > addr) return before;
  }
  return at;
}

void SegmentTracker::AddPreexisting(uint64_t addr, uint64_t size_bytes, uint32_t row, uint32_t seq, bool mapped) {
  const EventTable& events = builder_.store().events;
  const uint32_t pool = events.pool.empty() ? kNone : events.pool[row];
  const uint32_t made = AddRow(addr, size_bytes, mapped ? SegmentKind::kExpandable : SegmentKind::kUnknown, kNone,
                               events.stream[row], pool, {0});
  table_.end_seq[made] = seq;
}

// An unmap may cut a mapped range anywhere, or several at once; what of it was not seen mapped existed before.
void SegmentTracker::Release(uint32_t row, uint32_t seq, bool mapped) {
  const EventTable& events = builder_.store().events;
  uint64_t at = events.addr[row];
  const uint64_t end = at + events.size_bytes[row];
  if (end < at) return;  // wraps around the address space: no real range
  auto next = FirstTouching(at);
  while (at < end) {
    if (next == open_.end() || next->first >= end) {
      AddPreexisting(at, end - at, row, seq, mapped);
      return;
    }
    const uint64_t begin = next->first;
    const Open range = next->second;
    const uint64_t range_end = begin + range.size_bytes;
    if (begin > at) AddPreexisting(at, begin - at, row, seq, mapped);
    next = open_.erase(next);
    const uint64_t cut_begin = std::max(at, begin);
    const uint64_t cut_end = std::min(end, range_end);
    const auto piece = [&](uint64_t from, uint64_t to) {
      return AddRow(from, to - from, table_.kind[range.row], table_.begin_seq[range.row], table_.stream[range.row],
                    table_.pool[range.row], table_.stack[range.row]);
    };
    // The row becomes the part that is released; what is left on either side stays open as rows of their own.
    if (begin < cut_begin) open_.emplace(begin, Open{cut_begin - begin, piece(begin, cut_begin)});
    if (cut_end < range_end) next = open_.emplace(cut_end, Open{range_end - cut_end, piece(cut_end, range_end)}).first;
    table_.addr[range.row] = cut_begin;
    table_.size_bytes[range.row] = cut_end - cut_begin;
    table_.end_seq[range.row] = seq;
    at = cut_end;
  }
}

// Parts of the final segments that no event reserved were there before the first event.
void SegmentTracker::ExplainFinalSegments() {
  const FinalSegmentTable& finals = builder_.store().final_segments;
  for (uint32_t row = heap_.final_segments.begin; row < heap_.final_segments.end; ++row) {
    uint64_t at = finals.addr[row];
    const uint64_t end = at + finals.size_bytes[row];
    if (end < at) continue;
    for (auto next = FirstTouching(at); at < end; ++next) {
      const bool covered = next != open_.end() && next->first < end;
      const uint64_t begin = covered ? std::max(next->first, at) : end;
      if (begin > at)
        AddRow(at, begin - at, finals.kind[row], kNone, finals.stream[row], finals.pool[row], finals.stack[row]);
      if (!covered) break;
      const uint32_t open_row = next->second.row;
      table_.kind[open_row] = finals.kind[row];
      table_.pool[open_row] = finals.pool[row];
      at = next->first + next->second.size_bytes;
    }
  }
}

void SegmentTracker::NoteSum(uint64_t final_bytes, int64_t net_bytes) {
  const int64_t begin_bytes = static_cast<int64_t>(final_bytes) - net_bytes;
  heap_.reserved_begin_bytes = begin_bytes > 0 ? static_cast<uint64_t>(begin_bytes) : 0;
  if (begin_bytes >= 0) return;
  builder_.diagnostics().Note(
      Severity::kWarning, "segments_differ",
      fmt::format(
          "On {}, the segment events reserve {} more than the final state holds: releases are missing from the file.",
          heap_.id, FormatBytes(static_cast<uint64_t>(-begin_bytes))));
}

}  // namespace memstrata
