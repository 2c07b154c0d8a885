// state: segments, blocks and holes of a heap at one event.

#include <algorithm>

#include "index/heap_state.h"
#include "query/answer_parts.h"
#include "query/questions/questions.h"

namespace memstrata {
namespace {

constexpr size_t kMostBlocks = 200'000;

// Leaves the smallest blocks out when there are too many to send; returns how many and moves the row ranges along.
uint32_t LimitBlocks(HeapState& state, uint64_t& left_out_bytes) {
  if (state.blocks.size() <= kMostBlocks) return 0;
  std::vector<uint64_t> sizes;
  for (const StateBlock& block : state.blocks) sizes.push_back(block.size_bytes);
  std::nth_element(sizes.begin(), sizes.begin() + kMostBlocks, sizes.end(), std::greater<>());
  const uint64_t least_bytes = sizes[kMostBlocks];
  std::vector<StateBlock> kept;
  for (StateSegment& segment : state.segments) {
    const auto begin = static_cast<uint32_t>(kept.size());
    for (uint32_t row = segment.block_begin; row < segment.block_end; ++row) {
      if (state.blocks[row].size_bytes > least_bytes) {
        kept.push_back(state.blocks[row]);
      } else {
        left_out_bytes += state.blocks[row].size_bytes;
      }
    }
    segment.block_begin = begin;
    segment.block_end = static_cast<uint32_t>(kept.size());
  }
  const auto left_out = static_cast<uint32_t>(state.blocks.size() - kept.size());
  state.blocks = std::move(kept);
  return left_out;
}

void WriteSegments(FrameWriter& frame, const Store& store, const HeapState& state) {
  std::vector<uint64_t> address, size_bytes, used_bytes;
  std::vector<std::string> pool;
  std::vector<std::string_view> kind;
  std::vector<uint32_t> stream, begin_seq, block_begin, block_end, hole_begin, hole_end;
  for (const StateSegment& segment : state.segments) {
    address.push_back(segment.addr);
    size_bytes.push_back(segment.size_bytes);
    used_bytes.push_back(segment.used_bytes);
    pool.push_back(PoolText(store, segment.pool, segment.kind));
    kind.push_back(segment.kind == SegmentKind::kExpandable ? "expandable" : "segment");
    stream.push_back(segment.stream);
    begin_seq.push_back(segment.begin_seq);
    block_begin.push_back(segment.block_begin);
    block_end.push_back(segment.block_end);
    hole_begin.push_back(segment.hole_begin);
    hole_end.push_back(segment.hole_end);
  }
  frame.StartTable("segments", state.segments.size());
  frame.Values<uint64_t>("address", "address", address);
  frame.Bytes("size_bytes", size_bytes);
  frame.Bytes("used_bytes", used_bytes);
  frame.Strings("pool", std::vector<std::string_view>(pool.begin(), pool.end()));
  frame.Strings("kind", kind);
  frame.Values<uint32_t>("stream", "stream", stream);
  frame.Values<uint32_t>("begin_seq", "seq", begin_seq);
  frame.Values<uint32_t>("block_begin", "row", block_begin);
  frame.Values<uint32_t>("block_end", "row", block_end);
  frame.Values<uint32_t>("hole_begin", "row", hole_begin);
  frame.Values<uint32_t>("hole_end", "row", hole_end);
}

void WriteBlocks(FrameWriter& frame, const HeapEntry& heap, const HeapState& state, const Grouping& grouping) {
  std::vector<uint32_t> segment, allocation;
  std::vector<uint64_t> offset_bytes, size_bytes, requested_bytes;
  std::vector<uint8_t> block_state;
  std::vector<uint16_t> group;
  for (const StateBlock& block : state.blocks) {
    segment.push_back(block.segment);
    allocation.push_back(block.allocation);
    offset_bytes.push_back(block.offset_bytes);
    size_bytes.push_back(block.size_bytes);
    requested_bytes.push_back(heap.store.allocations.size_bytes[block.allocation]);
    block_state.push_back(block.is_pending ? 1 : 0);
    group.push_back(grouping.rows.group_of_row[block.allocation - heap.heap.allocations.begin]);
  }
  frame.StartTable("blocks", state.blocks.size());
  frame.Values<uint32_t>("segment", "row", segment);
  frame.Bytes("offset_bytes", offset_bytes);
  frame.Bytes("size_bytes", size_bytes);
  frame.Bytes("requested_bytes", requested_bytes);
  frame.Values<uint8_t>("state", "state", block_state);
  frame.Values<uint32_t>("allocation", "allocation", allocation);
  frame.Values<uint16_t>("group", "group", group);
}

void WriteHoles(FrameWriter& frame, const HeapState& state) {
  std::vector<uint32_t> segment;
  std::vector<uint64_t> offset_bytes, size_bytes;
  std::vector<uint8_t> kind;
  for (const StateHole& hole : state.holes) {
    segment.push_back(hole.segment);
    offset_bytes.push_back(hole.offset_bytes);
    size_bytes.push_back(hole.size_bytes);
    kind.push_back(static_cast<uint8_t>(hole.kind));
  }
  frame.StartTable("holes", state.holes.size());
  frame.Values<uint32_t>("segment", "row", segment);
  frame.Bytes("offset_bytes", offset_bytes);
  frame.Bytes("size_bytes", size_bytes);
  frame.Values<uint8_t>("kind", "kind", kind);
}

void WriteOutOfMemory(JsonWriter& json, const HeapEntry& heap, uint32_t seq) {
  const EventTable& events = heap.store.events;
  const uint32_t row = heap.heap.events.begin + seq;
  json.Key("oom");
  if (heap.heap.events.size() == 0 || events.kind[row] != EventKind::kOutOfMemory) return json.Null();
  json.StartObject();
  json.Field("requested_bytes", events.size_bytes[row]);
  json.Field("device_free_bytes", KnownBytes(events.addr[row]));
  json.EndObject();
}

void WriteAttributes(FrameWriter& frame, const HeapState& state) {
  JsonWriter& json = frame.attributes();
  json.Field("rounding_bytes", state.rounding_bytes);
  json.Field("largest_idle_bytes", state.largest_hole_bytes);
  json.Key("by_kind");
  json.StartObject();
  json.Field("private_pool_bytes", state.kind_bytes[static_cast<size_t>(HoleKind::kPrivatePool)]);
  json.Field("whole_segment_bytes", state.kind_bytes[static_cast<size_t>(HoleKind::kWholeSegment)]);
  json.Field("stream_bytes", state.kind_bytes[static_cast<size_t>(HoleKind::kIdleStream)]);
  json.Field("split_bytes", state.kind_bytes[static_cast<size_t>(HoleKind::kSplit)]);
  json.EndObject();
  json.Field("approximate", state.is_approximate);
  json.Field("outside_bytes", state.outside_bytes);
  json.Field("outside_count", state.outside_count);
}

Result<Answer> AnswerState(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(HeapEntry* const heap, HeapOf(session, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint32_t seq, SeqOf(*heap, parameters, "seq"));
  MEMSTRATA_ASSIGN_OR_RETURN(const size_t by, parameters.Choice("group", kGroupByNames, "category"));
  const Grouping& grouping = session.GroupingOf(*heap, static_cast<GroupBy>(by));
  HeapState state = StateAt(session.store(), heap->heap, heap->heap_index.MomentAt(seq));
  uint64_t left_out_bytes = 0;
  const uint32_t left_out_count = LimitBlocks(state, left_out_bytes);
  FrameWriter frame("state");
  WriteCursor(frame.attributes(), session, *heap, seq);
  WriteGroups(frame.attributes(), grouping);
  WriteAttributes(frame, state);
  frame.attributes().Field("merged_count", left_out_count);
  frame.attributes().Field("merged_bytes", left_out_bytes);
  WriteOutOfMemory(frame.attributes(), *heap, seq);
  WriteSegments(frame, session.store(), state);
  WriteBlocks(frame, *heap, state, grouping);
  WriteHoles(frame, state);
  return Answer{Answer::Type::kFrame, std::move(frame).Finish()};
}

constexpr std::string_view kParameters[] = {"heap", "seq", "group"};

}  // namespace

const QuestionInfo kStateQuestion = {"state", kParameters, AnswerState};

}  // namespace memstrata
