// Dicts that are records: what a dict is follows from its keys, never from a version number.

#include <fmt/format.h>

#include <algorithm>

#include "readers/torch_snapshot/decoder.h"

namespace memstrata::torch_snapshot {

bool Decoder::BecomeRecord(Value dict, Pairs pairs) {
  // The keys that decide, as bits.
  constexpr uint32_t kHasFrameKey = 1, kHasSegmentKey = 2, kHasState = 4, kHasSize = 8, kHasStage = 16, kHasName = 32,
                     kHasHistoryKey = 64;
  uint32_t found = 0;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    switch (SymbolOf(pairs[i])) {
      case Symbol::kAction:
        SetNode(dict, MakeEvent(pairs));
        return true;
      case Symbol::kFilename:
      case Symbol::kLine:
        found |= kHasFrameKey;
        break;
      case Symbol::kName:
        found |= kHasName;
        break;
      case Symbol::kTotalSize:
      case Symbol::kBlocks:
        found |= kHasSegmentKey;
        break;
      case Symbol::kState:
        found |= kHasState;
        break;
      case Symbol::kSize:
        found |= kHasSize;
        break;
      case Symbol::kStage:
        found |= kHasStage;
        break;
      case Symbol::kRealSize:
        found |= kHasHistoryKey;
        break;
      default:
        break;
    }
  }
  Node made;
  if ((found & kHasSegmentKey) != 0) {
    made = MakeSegment(pairs);
  } else if ((found & (kHasState | kHasSize)) == (kHasState | kHasSize)) {
    made = MakeBlock(pairs);
  } else if ((found & kHasStage) != 0 && (found & kHasName) != 0) {
    made = MakeAnnotation(pairs);
  } else if (((found & kHasFrameKey) != 0 && (found & (kHasHistoryKey | kHasStage)) == 0) ||
             (found == kHasName && pairs.size() == 2)) {
    made = MakeFrame(pairs);
  } else {
    return false;
  }
  SetNode(dict, made);
  return true;
}

EventKind Decoder::KindOfAction(Value action) {
  switch (SymbolOf(action)) {
    case Symbol::kAlloc:
      return EventKind::kAlloc;
    case Symbol::kFreeRequested:
      return EventKind::kFreeRequested;
    case Symbol::kFree:  // the official viewer's own word for both halves
    case Symbol::kFreeCompleted:
      return EventKind::kFreeCompleted;
    case Symbol::kSegmentAlloc:
      return EventKind::kSegmentAlloc;
    case Symbol::kSegmentFree:
      return EventKind::kSegmentFree;
    case Symbol::kSegmentMap:
      return EventKind::kSegmentMap;
    case Symbol::kSegmentUnmap:
      return EventKind::kSegmentUnmap;
    case Symbol::kOom:
      return EventKind::kOutOfMemory;
    case Symbol::kSnapshot:
      return EventKind::kSnapshot;
    case Symbol::kAnnotate:
    case Symbol::kUserDefined:
    case Symbol::kWorkspaceSnapshot:
      return EventKind::kMark;
    default:
      break;
  }
  builder_.diagnostics().Note(Severity::kWarning, "unknown_action",
                              "Trace entries have an action that this version does not know (first: \"" +
                                  Printable(action) + "\"); they are kept but have no effect.");
  return EventKind::kUnknown;
}

uint32_t Decoder::StreamOf(Value value) {
  const uint64_t handle = value.is(Kind::kNone) ? 0 : UnsignedOr(value, 0);
  if (last_stream_ == kNone || handle != last_stream_handle_) {
    last_stream_handle_ = handle;
    last_stream_ = builder_.InternStream(handle);
  }
  return last_stream_;
}

Pool Decoder::PoolOf(Value tuple) const {
  Pool pool;
  const std::span<const Value> items =
      tuple.is(Kind::kTuple) || tuple.is(Kind::kList) ? ItemsOf(tuple) : std::span<const Value>{};
  if (items.size() == 2) {
    (void)ToUnsigned(items[0], &pool.first);
    (void)ToUnsigned(items[1], &pool.second);
  }
  return pool;
}

Decoder::EventField Decoder::FieldOf(Symbol key) {
  switch (key) {
    case Symbol::kAction:
      return kAction;
    case Symbol::kAddr:
      return kAddr;
    case Symbol::kDeviceFree:
      return kDeviceFree;
    case Symbol::kSize:
      return kSize;
    case Symbol::kStream:
      return kStream;
    case Symbol::kTimeUs:
      return kTime;
    case Symbol::kFrames:
      return kFrames;
    case Symbol::kPoolId:
      return kPool;
    case Symbol::kCompileContext:
      return kCompileContext;
    case Symbol::kUserMetadata:
      return kUserMetadata;
    case Symbol::kInternalMetadata:
      return kInternalMetadata;
    case Symbol::kForwardFrames:
      return kForwardFrames;
    case Symbol::kCategory:
      return kCategory;
    default:
      return kOtherField;
  }
}

template <class ValueOf>
uint32_t Decoder::ContextOf(ValueOf value_of, Value metadata) {
  // Runs of events have the same labels: compare before hashing.
  const Value compile_context = value_of(kCompileContext);
  const bool simple = value_of(kCategory).is(Kind::kNone) && value_of(kForwardFrames).is(Kind::kNone);
  if (simple && last_context_ != kNone && compile_context == last_compile_context_ && metadata == last_user_metadata_)
    return last_context_;
  const auto text = [&](Value value) {
    return value.is(Kind::kText) && SymbolOf(value) != Symbol::kNotAvailable ? TextId(value) : StringId{0};
  };
  const uint32_t context = builder_.InternContext(
      {text(compile_context), text(metadata), text(value_of(kCategory)), StackOfTexts(value_of(kForwardFrames))});
  if (simple) {
    last_context_ = context;
    last_compile_context_ = compile_context;
    last_user_metadata_ = metadata;
  }
  return context;
}

// Columns that most files do not have begin with the first event that needs them.
template <class ValueOf>
void Decoder::AddUnusualColumns(ValueOf value_of, uint32_t row) {
  if (!value_of(kPool).is(Kind::kNone)) {
    if (value_of(kPool) != last_pool_value_) {
      last_pool_value_ = value_of(kPool);
      last_pool_ = builder_.InternPool(PoolOf(value_of(kPool)));
    }
    SetSparse(records_.events.pool, row, last_pool_);
  }
  const bool compiled =
      !value_of(kCompileContext).is(Kind::kNone) && SymbolOf(value_of(kCompileContext)) != Symbol::kNotAvailable;
  const bool labelled = !value_of(kUserMetadata).is(Kind::kNone) && !IsEmptyText(value_of(kUserMetadata));
  const Value metadata = labelled ? value_of(kUserMetadata) : value_of(kInternalMetadata);
  if (compiled || !metadata.is(Kind::kNone) || !value_of(kCategory).is(Kind::kNone) ||
      !value_of(kForwardFrames).is(Kind::kNone)) {
    SetSparse(records_.events.context, row, ContextOf(value_of, metadata));
  }
}

template <class ValueOf>
uint32_t Decoder::AddEvent(ValueOf value_of) {
  EventTable& events = records_.events;
  const auto row = static_cast<uint32_t>(events.size());
  if (row == events.kind.capacity()) ReserveEvents(row < 4096 ? 8192 : row + size_t{row} / 2);
  const EventKind kind = KindOfAction(value_of(kAction));
  const int64_t time_ns = TimeOf(value_of(kTime));
  const bool out_of_memory = kind == EventKind::kOutOfMemory;
  const Value addr = out_of_memory ? value_of(kDeviceFree) : value_of(kAddr);
  events.kind.PushBackReserved(kind);
  events.addr.PushBackReserved(addr.is(Kind::kNone) ? (out_of_memory ? kUnknownBytes : 0)
                                                    : UnsignedOr(addr, out_of_memory ? kUnknownBytes : 0));
  events.size_bytes.PushBackReserved(SizeOf(value_of(kSize)));
  events.time_ns.PushBackReserved(time_ns);
  events.stream.PushBackReserved(StreamOf(value_of(kStream)));
  events.stack.PushBackReserved(StackOf(value_of(kFrames)));
  has_time_ |= time_ns != kNoTime;
  AddUnusualColumns(value_of, row);
  return row;
}

Decoder::Node Decoder::MakeEvent(Pairs pairs) {
  EventValues values{};
  for (size_t i = 0; i < pairs.size(); i += 2) {
    const EventField field = FieldOf(SymbolOf(pairs[i]));
    values[field] = pairs[i + 1];
    if (field == kOtherField) NoteUnknownKey("Trace entries", pairs[i]);
  }
  return {NodeTag::kEvent, AddEvent([&](EventField field) { return values[field]; })};
}

bool Decoder::LearnShape(Pairs pairs) {
  std::array<uint8_t, kEventFieldCount> positions;
  positions.fill(pickle::kMostShapeKeys);  // where the machine keeps a None for what is absent
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const EventField field = FieldOf(SymbolOf(pairs[i]));
    if (field == kOtherField) return false;  // such keys are counted one by one
    positions[field] = static_cast<uint8_t>(i / 2);
  }
  if (positions[kAction] == pickle::kMostShapeKeys) return false;
  shape_positions_ = positions;
  return true;
}

Value Decoder::ShapedDict(const Value* values) {
  const uint32_t row = AddEvent([&](EventField field) { return values[shape_positions_[field]]; });
  return {Kind::kDict, static_cast<int64_t>(kDirectEventBit | row)};
}

// All columns grow together, so that one test in AddEvent() serves them all.
void Decoder::ReserveEvents(size_t capacity) {
  EventTable& events = records_.events;
  events.kind.Reserve(capacity);
  events.addr.Reserve(capacity);
  events.size_bytes.Reserve(capacity);
  events.time_ns.Reserve(capacity);
  events.stream.Reserve(capacity);
  events.stack.Reserve(capacity);
}

void Decoder::SetSparse(Column<uint32_t>& column, uint32_t row, uint32_t value) {
  column.Resize(row, kNone);
  column.PushBack(value);
}

int64_t Decoder::TimeOf(Value value) {
  const uint64_t time_us = value.is(Kind::kNone) ? 0 : UnsignedOr(value, 0);
  return time_us > 0 && time_us < static_cast<uint64_t>(INT64_MAX) / 1000 ? static_cast<int64_t>(time_us) * 1000
                                                                          : kNoTime;
}

// A path of Windows with the slashes that all other paths have: who looks for "torch/nn/modules" need not know.
StringId Decoder::FileId(Value value) {
  const std::string_view path = GetText(value);
  const bool is_windows = path.size() > 3 && path[1] == ':' && path[2] == '\\';
  if (!is_windows) return TextId(value);
  std::string with_slashes(path);
  std::replace(with_slashes.begin(), with_slashes.end(), '\\', '/');
  return TextId(Text(with_slashes));
}

Decoder::Node Decoder::MakeFrame(Pairs pairs) {
  StringId function{0};
  StringId file{0};
  uint64_t line = 0;
  std::string detail;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    const Value value = pairs[i + 1];
    switch (SymbolOf(pairs[i])) {
      case Symbol::kName:
        if (value.is(Kind::kText)) function = TextId(value);
        break;
      case Symbol::kFilename:
        if (value.is(Kind::kText)) file = FileId(value);
        break;
      case Symbol::kLine:
        line = value.is(Kind::kNone) ? 0 : UnsignedOr(value, 0);
        break;
      case Symbol::kFxNodeOp:
      case Symbol::kFxNodeName:
      case Symbol::kFxNodeTarget:
      case Symbol::kFxOriginalTrace:
        if (!value.is(Kind::kText)) break;
        if (!detail.empty()) detail += "\n";
        detail += std::string(GetText(pairs[i])) + ": " + std::string(GetText(value));
        break;
      default:
        NoteUnknownKey("Frames", pairs[i]);
        break;
    }
  }
  Store& store = builder_.store();
  const FrameKind kind = GuessFrameKind(store.String(file), store.String(function));
  const StringId detail_id = detail.empty() ? StringId{0} : TextId(Text(detail));
  const FrameId frame =
      store.stacks.InternFrame(function, file, static_cast<uint32_t>(std::min<uint64_t>(line, kNone)), kind, detail_id);
  return {NodeTag::kFrame, frame.value};
}

Decoder::Node Decoder::MakeSegment(Pairs pairs) {
  RawSegment segment;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    const Value value = pairs[i + 1];
    switch (SymbolOf(pairs[i])) {
      case Symbol::kDevice:
        segment.device = static_cast<uint32_t>(std::min<uint64_t>(UnsignedOr(value, 0), kNone));
        break;
      case Symbol::kAddress:
        segment.addr = UnsignedOr(value, 0);
        break;
      case Symbol::kTotalSize:
        segment.size_bytes = SizeOf(value);
        break;
      case Symbol::kStream:
        segment.stream = UnsignedOr(value, 0);
        break;
      case Symbol::kSegmentType:
        segment.kind = SymbolOf(value) == Symbol::kSmall   ? SegmentKind::kSmall
                       : SymbolOf(value) == Symbol::kLarge ? SegmentKind::kLarge
                                                           : SegmentKind::kUnknown;
        break;
      case Symbol::kSegmentPoolId:
        segment.pool = PoolOf(value), segment.has_pool = true;
        break;
      case Symbol::kIsExpandable:
        segment.is_expandable = UnsignedOr(value, 0) != 0;
        break;
      case Symbol::kFrames:
        segment.stack = StackOf(value);
        break;
      case Symbol::kBlocks:
        segment.block_list = RecordListOf(value, RecordKind::kBlock, "blocks");
        break;
      case Symbol::kAllocatedSize:  // sums over the blocks, which are read themselves
      case Symbol::kActiveSize:
      case Symbol::kRequestedSize:
        break;
      default:
        NoteUnknownKey("Segments", pairs[i]);
        break;
    }
  }
  if (segment.is_expandable) segment.kind = SegmentKind::kExpandable;
  records_.segments.push_back(segment);
  return {NodeTag::kSegment, static_cast<uint32_t>(records_.segments.size()) - 1};
}

// Before 2.1 a block listed its last users, newest first.
void Decoder::ReadHistory(Value history, RawBlock& block) {
  const std::span<const Value> users = ItemsOf(history);
  const std::vector<Value>* newest = users.empty() ? nullptr : PairsOf(users[0]);
  if (newest == nullptr) return;
  for (size_t i = 0; i + 1 < newest->size(); i += 2) {
    const Symbol key = SymbolOf((*newest)[i]);
    if (key == Symbol::kRealSize && block.requested_bytes == kUnknownBytes)
      block.requested_bytes = SizeOf((*newest)[i + 1]);
    if (key == Symbol::kFrames && block.stack.value == 0) block.stack = StackOf((*newest)[i + 1]);
  }
}

Decoder::Node Decoder::MakeBlock(Pairs pairs) {
  RawBlock block;
  Value history;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    const Value value = pairs[i + 1];
    switch (SymbolOf(pairs[i])) {
      case Symbol::kAddress:
        block.addr = UnsignedOr(value, kUnknownBytes);
        break;
      case Symbol::kSize:
        block.size_bytes = SizeOf(value);
        break;
      case Symbol::kRequestedSize:
        block.requested_bytes = SizeOf(value);
        break;
      case Symbol::kFrames:
        block.stack = StackOf(value);
        break;
      case Symbol::kHistory:
        history = value;
        break;
      case Symbol::kState:
        switch (SymbolOf(value)) {
          case Symbol::kActiveAllocated:
            block.state = BlockState::kActive;
            break;
          case Symbol::kActivePendingFree:
          case Symbol::kActiveAwaitingFree:
            block.state = BlockState::kPendingFree;
            break;
          case Symbol::kInactive:
            block.state = BlockState::kInactive;
            break;
          default:
            builder_.diagnostics().Note(Severity::kWarning, "unknown_block_state",
                                        "Blocks have a state that this version does not know (first: \"" +
                                            Printable(value) + "\"); they count as not in use.");
            break;
        }
        break;
      default:
        NoteUnknownKey("Blocks", pairs[i]);
        break;
    }
  }
  if (block.requested_bytes == 0)
    block.requested_bytes = kUnknownBytes;  // no request is empty: the field was not filled
  if (history.is(Kind::kList)) ReadHistory(history, block);
  has_stacks_ |= block.stack.value != 0;
  records_.blocks.push_back(block);
  return {NodeTag::kBlock, static_cast<uint32_t>(records_.blocks.size()) - 1};
}

Decoder::Node Decoder::MakeAnnotation(Pairs pairs) {
  RawAnnotation annotation;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    const Value value = pairs[i + 1];
    switch (SymbolOf(pairs[i])) {
      case Symbol::kName:
        annotation.name = value.is(Kind::kText) ? TextId(value) : StringId{0};
        break;
      case Symbol::kDevice:
        annotation.device = static_cast<uint32_t>(std::min<uint64_t>(UnsignedOr(value, 0), kNone));
        break;
      case Symbol::kStage:
        annotation.is_start = SymbolOf(value) == Symbol::kStart;
        break;
      case Symbol::kTimeUs:
        annotation.time_ns = TimeOf(value);
        break;
      default:
        break;  // further text keys are allowed and carry no memory
    }
  }
  records_.annotations.push_back(annotation);
  return {NodeTag::kAnnotation, static_cast<uint32_t>(records_.annotations.size()) - 1};
}

void Decoder::NoteUnknownKey(std::string_view where, Value key) {
  if (unknown_key_text_.empty()) {
    unknown_key_text_ = fmt::format("{} have a field that this version does not know (first: \"{}\"); it is not read.",
                                    where, Printable(key));
  }
  builder_.diagnostics().Note(Severity::kInfo, "unknown_key", unknown_key_text_);
}

}  // namespace memstrata::torch_snapshot
