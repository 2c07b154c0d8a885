#include "readers/torch_snapshot/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace memstrata::torch_snapshot {

Decoder::Decoder(StoreBuilder& builder, uint64_t memory_limit_bytes, uint64_t expected_bytes)
    : builder_(builder), memory_limit_bytes_(memory_limit_bytes) {
  // A trace entry takes 70 to 90 bytes of a pickle that shares its stacks, more of any other. Room that is not used
  // costs addresses, not memory.
  constexpr uint64_t kBytesPerEvent = 64;
  constexpr uint64_t kWorthPreparingBytes = 16 << 20;
  if (expected_bytes < kWorthPreparingBytes) return;
  const uint64_t rows = std::min(expected_bytes, memory_limit_bytes) / kBytesPerEvent;
  ReserveEvents(rows);
  nodes_.Reserve(rows);
}

Value Decoder::Text(std::string_view bytes) {
  StringPool& strings = builder_.store().strings;
  const StringId id = strings.Intern(bytes);
  while (symbols_.size() < strings.size()) {
    const std::string_view text = strings.Get({static_cast<uint32_t>(symbols_.size())});
    symbols_.push_back(FindSymbol(text));
    text_bytes_ += text.size();
  }
  return {Kind::kText, static_cast<int64_t>(uint64_t{static_cast<uint8_t>(symbols_[id.value])} << 32 | id.value)};
}

Value Decoder::BigInteger(uint64_t bits, bool is_negative) {
  (void)is_negative;  // addresses of the C++ writer are negative when they are above 2^63: the same 64 bits
  big_integers_.PushBack(bits);
  return {Kind::kBigInt, static_cast<int64_t>(big_integers_.size() - 1)};
}

Value Decoder::HugeInteger() {
  builder_.diagnostics().Note(Severity::kWarning, "integer_too_large",
                              "Integers have more than 64 bits; they are taken as unknown.");
  return {Kind::kNone, 0};
}

Value Decoder::Float(double number) {
  floats_.PushBack(number);
  return {Kind::kFloat, static_cast<int64_t>(floats_.size() - 1)};
}

Value Decoder::NewNode(Kind kind, NodeTag tag) {
  nodes_.PushBack(Node(tag, 0));
  return {kind, static_cast<int64_t>(nodes_.size() - 1)};
}

Value Decoder::Tuple(std::span<const Value> items) {
  const Value tuple = NewNode(Kind::kTuple, NodeTag::kEmpty);
  if (!items.empty()) AppendPlain(tuple, items);
  return tuple;
}

bool Decoder::Append(Value list, std::span<const Value> items) {
  if (!list.is(Kind::kList)) return false;
  if (items.empty()) return true;
  for (const Value item : items) Settle(item);
  if (items[0].is(Kind::kDict)) {
    if (NodeOf(items[0]).tag() == NodeTag::kFrame && AppendFrames(list, items)) return true;
    if (NodeOf(items[0]).tag() >= NodeTag::kEvent && AppendRecords(list, items)) return true;
  }
  if (is_closing_) NoteCutTraces(items);
  AppendPlain(list, items);
  return true;
}

// A trace that only now, after the document broke, is put into the list of traces was not finished.
void Decoder::NoteCutTraces(std::span<const Value> items) {
  for (const Value item : items) {
    if (!item.is(Kind::kList) || NodeOf(item).tag() != NodeTag::kRecords) continue;
    trace_is_cut_ |= records_.lists[NodeOf(item).payload()].kind == RecordKind::kEvent;
  }
}

bool Decoder::SetItems(Value dict, std::span<const Value> pairs) {
  if (!dict.is(Kind::kDict)) return false;
  if (NodeOf(dict).tag() == NodeTag::kEmpty) {
    // Protocol 0 sets one item at a time: a record is then complete when it is put into its list (Settle).
    if (pairs.size() > 2 && BecomeRecord(dict, pairs)) return true;
    uint32_t row = 0;
    if (free_pair_lists_.empty()) {
      row = static_cast<uint32_t>(pair_lists_.size());
      pair_lists_.emplace_back();
    } else {
      row = free_pair_lists_.back();
      free_pair_lists_.pop_back();
    }
    SetNode(dict, Node(NodeTag::kPairs, row));
  }
  if (NodeOf(dict).tag() != NodeTag::kPairs) {
    builder_.diagnostics().Note(Severity::kWarning, "record_changed_late",
                                "A record was given more fields after it was complete; they are not read.");
    return true;
  }
  for (size_t i = 1; i < pairs.size(); i += 2) Settle(pairs[i]);
  std::vector<Value>& kept = pair_lists_[NodeOf(dict).payload()];
  kept.insert(kept.end(), pairs.begin(), pairs.end());
  plain_value_count_ += pairs.size();
  return true;
}

Value Decoder::Harmless(pickle::HarmlessGlobal which, Value arguments) {
  const std::span<const Value> items = ItemsOf(arguments);
  if (which == pickle::HarmlessGlobal::kOrderedDict || items.empty()) return NewDict();
  return items[0];
}

uint64_t Decoder::memory_bytes() const {
  constexpr uint64_t kEventBytes = 41;
  constexpr uint64_t kMemoBytes = 8;  // held by the machine, about one entry a container
  return nodes_.size() * (sizeof(Node) + kMemoBytes) + plain_value_count_ * sizeof(Value) +
         (item_lists_.size() + pair_lists_.size()) * sizeof(std::vector<Value>) + text_bytes_ + symbols_.size() * 32 +
         records_.events.size() * kEventBytes + records_.blocks.size() * sizeof(RawBlock) +
         records_.segments.size() * sizeof(RawSegment) + records_.annotations.size() * sizeof(RawAnnotation) +
         (frame_list_values_.size() + big_integers_.size() + floats_.size()) * 8 +
         builder_.store().stacks.stacks().size() * 32ULL;
}

bool Decoder::over_limit() const { return memory_bytes() > memory_limit_bytes_ || records_.events.size() >= kNone - 1; }

bool Decoder::ToUnsigned(Value value, uint64_t* number) const {
  switch (value.kind()) {
    case Kind::kInt:
    case Kind::kBool:
      *number = static_cast<uint64_t>(value.payload());
      return true;
    case Kind::kBigInt:
      *number = big_integers_[value.handle()];
      return true;
    case Kind::kFloat: {
      const double real = floats_[value.handle()];
      if (!(real >= 0 && real < 18446744073709551616.0) || real != std::floor(real)) return false;
      *number = static_cast<uint64_t>(real);
      return true;
    }
    default:
      return false;
  }
}

uint64_t Decoder::UnusualUnsigned(Value value, uint64_t otherwise) {
  uint64_t number = 0;
  if (ToUnsigned(value, &number)) [[likely]]
    return number;
  builder_.diagnostics().Note(Severity::kWarning, "not_a_number",
                              "A field that must be a whole number is something else; it is taken as unknown.");
  return otherwise;
}

uint64_t Decoder::SizeOf(Value value) {
  constexpr uint64_t kLargestBelievableBytes = 1ULL << 60;  // PyTorch itself refuses larger requests
  const uint64_t size_bytes = value.is(Kind::kNone) ? 0 : UnsignedOr(value, 0);
  if (size_bytes <= kLargestBelievableBytes) [[likely]]
    return size_bytes;
  builder_.diagnostics().Note(Severity::kDataLoss, "implausible_size",
                              "A size is negative or above 2^60 bytes; it is counted as 0.");
  return 0;
}

std::string Decoder::Printable(Value value, int depth) const {
  constexpr int kDeepest = 8;
  switch (value.kind()) {
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return value.payload() != 0 ? "True" : "False";
    case Kind::kInt:
      return fmt::format("{}", value.payload());
    case Kind::kBigInt:
      return fmt::format("{}", static_cast<int64_t>(big_integers_[value.handle()]));
    case Kind::kFloat:
      return fmt::format("{}", floats_[value.handle()]);
    case Kind::kText:
      return std::string(GetText(value));
    case Kind::kGlobal:
      return "?";
    default:
      break;
  }
  if (depth == kDeepest) return "…";
  std::string text;
  if (const std::vector<Value>* pairs = PairsOf(value)) {
    for (size_t i = 0; i + 1 < pairs->size(); i += 2) {
      text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", Printable((*pairs)[i], depth + 1),
                          Printable((*pairs)[i + 1], depth + 1));
      if (text.size() > 4096) break;
    }
    return "{" + text + "}";
  }
  for (const Value& item : ItemsOf(value)) {
    text += (text.empty() ? "" : ", ") + Printable(item, depth + 1);
    if (text.size() > 4096) break;
  }
  return "[" + text + "]";
}

}  // namespace memstrata::torch_snapshot
