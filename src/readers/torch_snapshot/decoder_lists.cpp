// Lists of frames become one stack id, lists of records ranges of rows.

#include <cstring>

#include "readers/torch_snapshot/decoder.h"

namespace memstrata::torch_snapshot {

void Decoder::Settle(Value value) {
  if (!value.is(Kind::kDict) || NodeOf(value).tag() != NodeTag::kPairs) return;
  const uint32_t row = NodeOf(value).payload();
  std::vector<Value> pairs = std::move(pair_lists_[row]);
  if (!BecomeRecord(value, pairs)) {
    pair_lists_[row] = std::move(pairs);
    return;
  }
  plain_value_count_ -= pairs.size();
  pair_lists_[row] = {};
  free_pair_lists_.push_back(row);
}

// The stack of a list that was seen before costs one hash of its values, whatever its length.
StackId Decoder::InternFrameList(std::span<const Value> items) {
  constexpr uint64_t kLargestCacheValues = 32ULL << 20;
  const uint64_t hash = HashBytes(items.data(), items.size_bytes());
  if (const auto found = frame_lists_.find(hash); found != frame_lists_.end()) {
    const FrameList& known = found->second;
    if (known.count == items.size() &&
        std::memcmp(&frame_list_values_[known.begin], items.data(), items.size_bytes()) == 0)
      return known.stack;
  }
  std::vector<FrameId> frames;
  frames.reserve(items.size());
  for (const Value& item : items) {
    if (!item.is(Kind::kDict) || NodeOf(item).tag() != NodeTag::kFrame) return {kNone};
    frames.push_back({NodeOf(item).payload()});
  }
  const StackId stack = builder_.store().stacks.InternStack(frames);
  if (frame_list_values_.size() + items.size() <= kLargestCacheValues) {
    frame_lists_[hash] = {frame_list_values_.size(), static_cast<uint32_t>(items.size()), stack};
    frame_list_values_.Append(items);
  }
  return stack;
}

bool Decoder::AppendFrames(Value list, std::span<const Value> items) {
  const Node node = NodeOf(list);
  if (node.tag() != NodeTag::kEmpty && node.tag() != NodeTag::kStack) return false;
  const StackId inner = InternFrameList(items);
  if (inner.value == kNone) return false;
  StackId stack = inner;
  if (node.tag() == NodeTag::kStack) {
    // A list of more than 1,000 frames comes in batches, innermost first: the frames so far are called by the new ones.
    std::vector<FrameId> frames;
    const StackTable& stacks = builder_.store().stacks.stacks();
    for (StackId part : {StackId{node.payload()}, inner}) {
      for (StackId at = part; at.value != 0; at = stacks.parent[at.value]) frames.push_back(stacks.frame[at.value]);
    }
    stack = builder_.store().stacks.InternStack(frames);
  }
  SetNode(list, Node(NodeTag::kStack, stack.value));
  return true;
}

bool Decoder::AppendRecords(Value list, std::span<const Value> items) {
  const auto kind_of = [](NodeTag tag) {
    return static_cast<RecordKind>(static_cast<int>(tag) - static_cast<int>(NodeTag::kEvent));
  };
  if (NodeOf(list).tag() == NodeTag::kEmpty) {
    records_.lists.push_back({kind_of(NodeOf(items[0]).tag()), {}});
    SetNode(list, Node(NodeTag::kRecords, static_cast<uint32_t>(records_.lists.size()) - 1));
  }
  if (NodeOf(list).tag() != NodeTag::kRecords) return false;
  RecordList& record_list = records_.lists[NodeOf(list).payload()];
  for (const Value& item : items) {
    const NodeTag tag = item.is(Kind::kDict) ? NodeOf(item).tag() : NodeTag::kEmpty;
    if (tag < NodeTag::kEvent || kind_of(tag) != record_list.kind) {
      builder_.diagnostics().Note(Severity::kDataLoss, "foreign_list_item",
                                  "Lists hold items of another kind than the rest of the list; these are not read.");
      continue;
    }
    const uint32_t row = NodeOf(item).payload();
    if (!record_list.ranges.empty() && record_list.ranges.back().end == row) {
      ++record_list.ranges.back().end;
    } else {
      record_list.ranges.push_back({row, row + 1});
    }
  }
  return true;
}

void Decoder::AppendPlain(Value list, std::span<const Value> items) {
  const Node node = NodeOf(list);
  if (node.tag() == NodeTag::kEmpty) {
    item_lists_.emplace_back();
    SetNode(list, Node(NodeTag::kItems, static_cast<uint32_t>(item_lists_.size()) - 1));
  } else if (node.tag() != NodeTag::kItems) {
    builder_.diagnostics().Note(Severity::kDataLoss, "foreign_list_item",
                                "Lists hold items of another kind than the rest of the list; these are not read.",
                                kUnknownBytes, items.size());
    return;
  }
  std::vector<Value>& kept = item_lists_[NodeOf(list).payload()];
  kept.insert(kept.end(), items.begin(), items.end());
  plain_value_count_ += items.size();
}

// forward_frames: formatted lines of text instead of frames; each line is kept as the function of a frame.
StackId Decoder::StackOfTexts(Value list) {
  if (!list.is(Kind::kList)) return {0};
  if (NodeOf(list).tag() == NodeTag::kStack) return {NodeOf(list).payload()};
  std::vector<FrameId> frames;
  for (const Value& item : ItemsOf(list)) {
    if (item.is(Kind::kText))
      frames.push_back(builder_.store().stacks.InternFrame(TextId(item), {0}, 0, FrameKind::kPython));
  }
  return builder_.store().stacks.InternStack(frames);
}

}  // namespace memstrata::torch_snapshot
