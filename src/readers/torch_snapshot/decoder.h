#pragma once
// Turns the values of a pickle (or JSON) document into Records, while they are read.
//
// A container is a node: eight bytes that say what it turned out to be. A dict becomes a trace event, frame, block,
// segment or annotation as soon as its items are set, by its keys; a list of frames becomes one stack id; a list of
// events a range of rows. What is none of these is kept as a plain list or dict (settings, the top level).
// So a 1 GB file never becomes a tree of objects, and memo identity makes equal stacks equal for free.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/column.h"
#include "base/flat_map.h"
#include "io/pickle/globals.h"
#include "io/pickle/value.h"
#include "model/store/store_builder.h"
#include "readers/torch_snapshot/records.h"
#include "readers/torch_snapshot/symbols.h"

namespace memstrata::torch_snapshot {

using pickle::Kind;
using pickle::Value;

class Decoder {
 public:
  /// `expected_bytes`: the size of the unpacked document, or 0 when it is not known; tables get room for it.
  Decoder(StoreBuilder& builder, uint64_t memory_limit_bytes, uint64_t expected_bytes);

  // The Consumer of pickle::Machine; the JSON driver calls the same.
  Value Text(std::string_view bytes);
  Value BigInteger(uint64_t bits, bool is_negative);
  Value HugeInteger();
  Value Float(double number);
  Value NewList() { return NewNode(Kind::kList, NodeTag::kEmpty); }
  Value NewDict() { return NewNode(Kind::kDict, NodeTag::kEmpty); }
  Value Tuple(std::span<const Value> items);
  bool Append(Value list, std::span<const Value> items);
  bool SetItems(Value dict, std::span<const Value> pairs);
  bool LearnShape(std::span<const Value> pairs);
  Value ShapedDict(const Value* values);
  Value Harmless(pickle::HarmlessGlobal which, Value arguments);
  std::string_view GetText(Value text) const { return builder_.store().strings.Get(TextId(text)); }
  bool over_limit() const;
  void BeginClosing() { is_closing_ = true; }
  /// A broken document ended inside the trace of a device: its newest events, and those of later devices, are missing.
  bool trace_is_cut() const { return trace_is_cut_; }
  uint64_t memory_limit_bytes() const { return memory_limit_bytes_; }
  /// Rough memory held so far.
  uint64_t memory_bytes() const;

  /// Interprets the top level; kUnsupportedFormat says what the document is instead of a snapshot.
  Result<SnapshotRoot> Root(Value root);
  Records& records() { return records_; }
  /// Some event or block carries frames.
  bool has_stacks() const { return has_stacks_; }
  bool has_time() const { return has_time_; }

 private:
  enum class NodeTag : uint8_t {
    kEmpty,
    kItems,    // plain list or tuple → item_lists_
    kPairs,    // plain dict → pair_lists_
    kStack,    // list of frames → StackId
    kRecords,  // list of records → Records::lists
    kFrame,    // dict → FrameId
    kEvent,
    kSegment,
    kBlock,
    kAnnotation,  // dict → row
  };
  /// Tag and payload of a container in eight bytes.
  class Node {
   public:
    Node() = default;
    Node(NodeTag tag, uint32_t payload) : bits_(uint64_t{payload} << 8 | static_cast<uint64_t>(tag)) {}
    NodeTag tag() const { return static_cast<NodeTag>(bits_ & 0xFF); }
    uint32_t payload() const { return static_cast<uint32_t>(bits_ >> 8); }

   private:
    uint64_t bits_ = 0;
  };
  using Pairs = std::span<const Value>;
  /// The keys of a trace entry that have a meaning; what an entry does not have stays None.
  enum EventField : uint8_t {
    kAction,
    kAddr,
    kDeviceFree,
    kSize,
    kStream,
    kTime,
    kFrames,
    kPool,
    kCompileContext,
    kUserMetadata,
    kInternalMetadata,
    kForwardFrames,
    kCategory,
    kOtherField,
    kEventFieldCount,
  };
  using EventValues = std::array<Value, kEventFieldCount>;

  Value NewNode(Kind kind, NodeTag tag);
  /// Trace entries of the usual shape need no node: their value is the row itself, marked by this bit.
  static constexpr uint64_t kDirectEventBit = uint64_t{1} << 40;
  Node NodeOf(Value container) const {
    const uint64_t handle = container.handle();
    return (handle & kDirectEventBit) != 0 ? Node(NodeTag::kEvent, static_cast<uint32_t>(handle)) : nodes_[handle];
  }
  void SetNode(Value container, Node node) { nodes_[container.handle()] = node; }

  static StringId TextId(Value text) { return {static_cast<uint32_t>(text.handle() & 0xFFFFFFFF)}; }
  static Symbol SymbolOf(Value value) {
    return value.is(Kind::kText) ? static_cast<Symbol>(value.handle() >> 32) : Symbol::kOther;
  }
  /// Numbers of any written form; false for what is no whole number.
  bool ToUnsigned(Value value, uint64_t* number) const;
  uint64_t UnsignedOr(Value value, uint64_t otherwise) {
    return value.is(Kind::kInt) ? static_cast<uint64_t>(value.payload()) : UnusualUnsigned(value, otherwise);
  }
  uint64_t UnusualUnsigned(Value value, uint64_t otherwise);
  uint64_t SizeOf(Value value);
  bool IsEmptyText(Value value) const { return value.is(Kind::kText) && TextId(value).value == 0; }
  std::string Printable(Value value, int depth = 0) const;

  // decoder_records.cpp: dicts that are records
  /// Whether `pairs` make the empty dict a record; then it is one from here on.
  bool BecomeRecord(Value dict, Pairs pairs);
  Node MakeEvent(Pairs pairs);
  Node MakeFrame(Pairs pairs);
  Node MakeSegment(Pairs pairs);
  Node MakeBlock(Pairs pairs);
  Node MakeAnnotation(Pairs pairs);
  EventKind KindOfAction(Value action);
  static EventField FieldOf(Symbol key);
  // `value_of(field)` gives the value of a field, None where the entry does not have it.
  template <class ValueOf>
  uint32_t AddEvent(ValueOf value_of);
  template <class ValueOf>
  void AddUnusualColumns(ValueOf value_of, uint32_t row);
  void ReserveEvents(size_t capacity);
  template <class ValueOf>
  uint32_t ContextOf(ValueOf value_of, Value metadata);
  static void SetSparse(Column<uint32_t>& column, uint32_t row, uint32_t value);
  int64_t TimeOf(Value microseconds);
  void ReadHistory(Value history, RawBlock& block);
  Pool PoolOf(Value tuple) const;
  uint32_t StreamOf(Value value);
  void NoteUnknownKey(std::string_view where, Value key);

  // decoder_lists.cpp: lists of frames and of records
  StackId StackOf(Value list) {
    if (!list.is(Kind::kList)) return {0};
    const Node node = NodeOf(list);
    if (node.tag() != NodeTag::kStack) return {0};
    has_stacks_ = true;
    return {node.payload()};
  }
  bool AppendFrames(Value list, std::span<const Value> items);
  bool AppendRecords(Value list, std::span<const Value> items);
  void AppendPlain(Value list, std::span<const Value> items);
  void NoteCutTraces(std::span<const Value> items);
  /// A plain dict that is complete now becomes the record that it is, if it is one.
  void Settle(Value value);
  StringId FileId(Value value);
  StackId InternFrameList(std::span<const Value> items);
  StackId StackOfTexts(Value list);

  // decoder_root.cpp
  const std::vector<Value>* PairsOf(Value dict) const;
  std::span<const Value> ItemsOf(Value list) const;
  uint32_t RecordListOf(Value list, RecordKind kind, std::string_view where);
  std::vector<uint32_t> TracesOf(Value list);
  void ReadSettings(Value settings, SnapshotRoot& root);
  void ReadOverflow(Symbol key, Value value, SnapshotRoot& root);
  Error NotASnapshot(Value root) const;

  // decoder_capture.cpp: the key "memstrata"
  void ReadCapture(Value block, SnapshotRoot& root);
  void ReadSamples(Value rows, CaptureBlock& capture);

  StoreBuilder& builder_;
  uint64_t memory_limit_bytes_;
  Records records_;
  Column<Node> nodes_;
  std::vector<std::vector<Value>> item_lists_;
  std::vector<std::vector<Value>> pair_lists_;
  std::vector<uint32_t> free_pair_lists_;  // of dicts that became records
  uint64_t plain_value_count_ = 0;
  uint64_t text_bytes_ = 0;
  Column<uint64_t> big_integers_;
  Column<double> floats_;
  std::vector<Symbol> symbols_;  // by string id

  // Frame lists seen before, by content: values of equal frames are equal, so the raw values are the key.
  struct FrameList {
    uint64_t begin = 0;  // in frame_list_values_
    uint32_t count = 0;
    StackId stack{0};
  };
  FlatMap<uint64_t, FrameList> frame_lists_;
  Column<Value> frame_list_values_;

  uint64_t last_stream_handle_ = 0;
  uint32_t last_stream_ = kNone;
  Value last_pool_value_;
  uint32_t last_pool_ = kNone;
  Value last_compile_context_;
  Value last_user_metadata_;
  uint32_t last_context_ = kNone;
  std::array<uint8_t, kEventFieldCount> shape_positions_{};  // of the fields among the values of ShapedDict()
  std::string unknown_key_text_;
  bool is_closing_ = false;
  bool trace_is_cut_ = false;
  bool has_stacks_ = false;
  bool has_time_ = false;
};

}  // namespace memstrata::torch_snapshot
