#pragma once
// What each opcode does. Part of io/pickle/machine.h; include that.
//
// Cost: about 2 ns an opcode. Ten opcodes make nearly all of a snapshot (memo reads, integers, MARK, MEMOIZE, SETITEMS,
// EMPTY_DICT); FastSteps() carries these out on local copies of the cursor and the stack. Records come in long runs
// with the same keys: ShapedDict() recognises a whole dict of the last shape at once, about 20 opcodes in 35 ns.

#include "io/pickle/machine.h"

namespace memstrata::pickle {

template <class Consumer>
void Machine<Consumer>::Loop() {
  constexpr uint64_t kStepsBetweenChecks = 4 * 1024;
  for (uint64_t steps = 1; !stopped_; ++steps) {
    if (window_.cursor == window_.limit && !Need(1)) return;
    if (!FastSteps()) return;
    if (window_.cursor == window_.limit) continue;
    if (steps % kStepsBetweenChecks == 0 && consumer_.over_limit()) {
      return Fail(ErrorCode::kLimitExceeded, "The capture needs more memory than the limit allows.",
                  window_.offset_bytes());
    }
    op_offset_ = window_.offset_bytes();
    if (!Step(*window_.cursor++)) return;
  }
}

/// Reads one value that is a single opcode; null for any other.
inline const uint8_t* ShapedValue(const uint8_t* at, const Value* memo, size_t memo_size, Value* value) {
  switch (*at) {
    case kBinGet:
      if (at[1] >= memo_size) return nullptr;
      *value = memo[at[1]];
      return at + 2;
    case kLongBinGet: {
      uint32_t index;
      std::memcpy(&index, at + 1, sizeof index);
      if (index >= memo_size) return nullptr;
      *value = memo[index];
      return at + 5;
    }
    case kBinInt1:
      *value = Value(Kind::kInt, at[1]);
      return at + 2;
    case kBinInt2: {
      uint16_t number;
      std::memcpy(&number, at + 1, sizeof number);
      *value = Value(Kind::kInt, number);
      return at + 3;
    }
    case kBinInt: {
      int32_t number;
      std::memcpy(&number, at + 1, sizeof number);
      *value = Value(Kind::kInt, number);
      return at + 5;
    }
    case kLong1: {
      const unsigned length = at[1];
      if (length == 0 || length > 7) return nullptr;  // 56 bits: always inline
      int64_t number;
      std::memcpy(&number, at + 2, sizeof number);
      const unsigned unused_bits = 64 - 8 * length;
      *value = Value(Kind::kInt, static_cast<int64_t>(static_cast<uint64_t>(number) << unused_bits) >> unused_bits);
      return at + 2 + length;
    }
    default:
      return nullptr;
  }
}

/// At the MARK of a dict: reads its values if it has the keys of the last shape and simple values up to SETITEMS, and
/// returns what follows; null where it differs. `safe`: from there on, less than one opcode is left in the window.
template <class Consumer>
const uint8_t* Machine<Consumer>::ShapedDict(const uint8_t* at, const uint8_t* safe, const Value* memo,
                                             size_t memo_size, Value* values) const {
  if (*at != kMark || shape_key_count_ == 0) return nullptr;
  ++at;
  for (size_t i = 0; i < shape_key_count_; ++i) {
    Value key;
    if (at > safe || (at = ShapedValue(at, memo, memo_size, &key)) == nullptr || key != shape_keys_[i]) return nullptr;
    if (at > safe || (at = ShapedValue(at, memo, memo_size, &values[i])) == nullptr) return nullptr;
  }
  return at <= safe && *at == kSetItems ? at + 1 : nullptr;
}

template <class Consumer>
void Machine<Consumer>::LearnShape(std::span<const Value> pairs) {
  const size_t count = pairs.size() / 2;
  if (count == 0 || count > kMostShapeKeys) return;
  bool known = count == shape_key_count_;
  for (size_t i = 0; known && i < count; ++i) known = pairs[2 * i] == shape_keys_[i];
  if (known || !consumer_.LearnShape(pairs)) return;
  shape_key_count_ = count;
  for (size_t i = 0; i < shape_key_count_; ++i) shape_keys_[i] = pairs[2 * i];
}

/// Carries out common opcodes until one comes that is not, the window is nearly used up, or room must be made. False
/// after an error. Works on locals: stores through Value pointers could otherwise change the members that hold the
/// sizes.
template <class Consumer>
bool Machine<Consumer>::FastSteps() {
  constexpr size_t kLongestFastBytes = 16;  // opcode and argument
  const size_t room = window_.available();  // an opcode pushes at most one value: no check per opcode
  if (room < kLongestFastBytes || stack_.size() + room > limits_.stack_values) return true;
  stack_.ReserveMore(room);
  memo_.ReserveMore(room);
  const uint8_t* const safe = window_.limit - kLongestFastBytes;
  const uint8_t* at = window_.cursor;
  Value* const stack = stack_.data();
  Value* top = stack + stack_.size();
  Value* const memo = memo_.data();
  size_t memo_size = memo_.size();
  const bool memo_is_dense = memo_writes_ == memo_size;
  Value values[kMostShapeKeys];
  bool ok = true;
  for (bool common = true; common && at <= safe;) {
    switch (*at) {
      case kBinGet:
      case kLongBinGet:
      case kBinInt1:
      case kBinInt2:
      case kBinInt:
      case kLong1: {
        const uint8_t* const after = ShapedValue(at, memo, memo_size, top);
        common = after != nullptr;
        if (common) ++top, at = after;
        break;
      }
      case kMemoize:
        common = memo_is_dense && top > stack + (marks_.empty() ? 0 : marks_.back());
        if (common) memo[memo_size++] = top[-1], ++at;
        break;
      case kMark:
        common = marks_.size() < limits_.marks;
        if (common) marks_.push_back(static_cast<size_t>(top - stack)), ++at;
        break;
      case kEmptyDict: {
        const bool memoized = memo_is_dense && at[1] == kMemoize;
        const uint8_t* const after = ShapedDict(at + 1 + memoized, safe, memo, memo_size, values);
        if (after != nullptr) {
          *top = consumer_.ShapedDict({values, shape_key_count_});
          if (memoized) memo[memo_size++] = *top;
          at = after;
        } else {
          *top = consumer_.NewDict();
          ++at;
        }
        ++top;
        break;
      }
      case kSetItems:
        op_offset_ = window_.offset_bytes() + static_cast<uint64_t>(at - window_.cursor);
        window_.cursor = ++at;
        stack_.SetFilled(static_cast<size_t>(top - stack));
        ok = common = SetMarkedItems();
        top = stack + stack_.size();
        break;
      default:
        common = false;
        break;
    }
  }
  window_.cursor = at;
  stack_.SetFilled(static_cast<size_t>(top - stack));
  memo_.SetFilled(memo_size);
  if (memo_is_dense) memo_writes_ = memo_size;
  return ok;
}

template <class Consumer>
bool Machine<Consumer>::Step(uint8_t opcode) {
  switch (opcode) {
    case kBinGet:
      return Need(1) && GetMemo(Take<uint8_t>());
    case kLongBinGet:
      return Need(4) && GetMemo(Take<uint32_t>());
    case kMemoize:
      return PutMemo(memo_writes_);
    case kMark:
      if (marks_.size() >= limits_.marks) {
        Fail(ErrorCode::kLimitExceeded, "The pickle is nested more than 1,048,576 levels deep.", op_offset());
        return false;
      }
      marks_.push_back(stack_.size());
      return true;
    case kStop:
      if (!Has(1)) return false;
      stopped_ = true;
      return true;
    case kProto:
      if (!Need(1)) return false;
      protocol_ = Take<uint8_t>();
      if (protocol_ <= 5) return true;
      FailHere(fmt::format("Pickle protocol {} is newer than the newest known (5).", protocol_));
      return false;
    case kFrame:  // its length only helps a reader that wants whole frames in memory
      if (!Need(8)) return false;
      window_.cursor += 8;
      return true;
    case kPop:
      if (!marks_.empty() && stack_.size() == marks_.back()) {
        marks_.pop_back();
        return true;
      }
      if (!Has(1)) return false;
      stack_.Truncate(stack_.size() - 1);
      return true;
    case kPopMark: {
      std::span<const Value> items;
      if (!TakeMarked(&items)) return false;
      DropMark();
      return true;
    }
    case kDup:
      return Has(1) && Push(Top(1)[0]);
    case kNoneValue:
      return Push(Value(Kind::kNone, 0));
    case kNewTrue:
      return Push(Value(Kind::kBool, 1));
    case kNewFalse:
      return Push(Value(Kind::kBool, 0));
    case kBinInt:
    case kBinInt1:
    case kBinInt2:
    case kInt:
    case kLong:
    case kLong1:
    case kLong4:
    case kFloat:
    case kBinFloat:
      return StepNumber(opcode);
    case kString:
    case kBinString:
    case kShortBinString:
    case kUnicode:
    case kBinUnicode:
    case kShortBinUnicode:
    case kBinUnicode8:
    case kBinBytes:
    case kShortBinBytes:
    case kBinBytes8:
    case kByteArray8:
      return StepText(opcode);
    case kGet:
    case kPut:
    case kBinPut:
    case kLongBinPut:
      return StepMemo(opcode);
    case kEmptyList:
    case kEmptySet:
    case kEmptyDict:
    case kEmptyTuple:
    case kAppend:
    case kAppends:
    case kAddItems:
    case kSetItem:
    case kSetItems:
    case kList:
    case kDict:
    case kTuple:
    case kTuple1:
    case kTuple2:
    case kTuple3:
    case kFrozenSet:
      return StepContainer(opcode);
    case kGlobal:
    case kStackGlobal:
    case kReduce:
    case kBuild:
    case kInst:
    case kObj:
    case kNewObj:
    case kNewObjEx:
    case kPersId:
    case kBinPersId:
    case kExt1:
    case kExt2:
    case kExt4:
    case kNextBuffer:
    case kReadOnlyBuffer:
      return StepGlobal(opcode);
    default:
      FailHere(fmt::format("Byte 0x{:02x} is no pickle opcode.", opcode));
      return false;
  }
}

// ---- numbers ----

template <class Consumer>
bool Machine<Consumer>::StepNumber(uint8_t opcode) {
  std::string_view text;
  switch (opcode) {
    case kBinInt1:
      return Need(1) && Push(Value(Kind::kInt, Take<uint8_t>()));
    case kBinInt2:
      return Need(2) && Push(Value(Kind::kInt, Take<uint16_t>()));
    case kBinInt:
      return Need(4) && Push(Value(Kind::kInt, Take<int32_t>()));
    case kLong1:
      return TakeBytes<uint8_t>(&text) && PushLong(text);
    case kLong4: {
      if (!Need(4)) return false;
      const auto length = Take<int32_t>();
      if (length < 0) {
        FailHere("A LONG4 has a negative length.");
        return false;
      }
      if (!Need(static_cast<uint64_t>(length))) return false;
      text = {reinterpret_cast<const char*>(window_.cursor), static_cast<size_t>(length)};
      window_.cursor += length;
      return PushLong(text);
    }
    case kBinFloat: {
      if (!Need(8)) return false;
      const uint64_t big_endian = Take<uint64_t>();
      return Push(consumer_.Float(std::bit_cast<double>(__builtin_bswap64(big_endian))));
    }
    case kFloat: {
      if (!TakeLine(&text)) return false;
      double number = 0;
      const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (problem == std::errc{} && end == text.data() + text.size()) return Push(consumer_.Float(number));
      FailHere("A FLOAT is no number.");
      return false;
    }
    case kInt:  // "00" and "01" are how protocol 0 wrote False and True
      if (!TakeLine(&text)) return false;
      if (text == "00" || text == "01") return Push(Value(Kind::kBool, text == "01"));
      return PushDecimal(text);
    default:  // kLong: digits and an L
      if (!TakeLine(&text)) return false;
      if (text.ends_with('L')) text.remove_suffix(1);
      return PushDecimal(text);
  }
}

template <class Consumer>
bool Machine<Consumer>::PushLong(std::string_view little_endian) {
  const bool negative = !little_endian.empty() && (static_cast<uint8_t>(little_endian.back()) & 0x80) != 0;
  // Up to 64 bits of magnitude: a ninth byte may only carry the sign.
  while (little_endian.size() > 8) {
    const auto last = static_cast<uint8_t>(little_endian.back());
    if (last != (negative ? 0xFF : 0x00)) return Push(consumer_.HugeInteger());
    little_endian.remove_suffix(1);
  }
  uint64_t bits = negative ? ~uint64_t{0} : 0;
  std::memcpy(&bits, little_endian.data(), little_endian.size());
  const auto number = static_cast<int64_t>(bits);
  const bool keeps_sign = negative == (number < 0);
  if (keeps_sign && Value::FitsInline(number)) return Push(Value(Kind::kInt, number));
  return Push(consumer_.BigInteger(bits, negative));
}

template <class Consumer>
bool Machine<Consumer>::PushDecimal(std::string_view digits) {
  int64_t number = 0;
  const char* end = digits.data() + digits.size();
  if (const auto [at, problem] = std::from_chars(digits.data(), end, number); problem == std::errc{} && at == end) {
    return PushInteger(number);
  }
  uint64_t large = 0;
  if (const auto [at, problem] = std::from_chars(digits.data(), end, large); problem == std::errc{} && at == end) {
    return Push(consumer_.BigInteger(large, false));
  }
  const bool all_digits = !digits.empty() && digits.find_first_not_of("-0123456789") == std::string_view::npos;
  if (all_digits) return Push(consumer_.HugeInteger());
  FailHere("An integer in text form is no number.");
  return false;
}

// ---- texts ----

template <class Consumer>
bool Machine<Consumer>::TakeLine(std::string_view* line) {
  uint64_t wanted = 64;
  while (true) {
    const bool more = window_.Ensure(wanted);
    const void* newline = std::memchr(window_.cursor, '\n', window_.available());
    if (newline != nullptr) {
      const auto* begin = reinterpret_cast<const char*>(window_.cursor);
      *line = {begin, static_cast<size_t>(static_cast<const char*>(newline) - begin)};
      window_.cursor += line->size() + 1;
      if (line->ends_with('\r')) line->remove_suffix(1);
      return true;
    }
    if (!more) return Truncated();
    wanted = window_.available() * 2;
  }
}

template <class Consumer>
bool Machine<Consumer>::StepText(uint8_t opcode) {
  std::string_view text;
  bool ok = false;
  switch (opcode) {
    case kShortBinUnicode:
    case kShortBinString:
    case kShortBinBytes:
      ok = TakeBytes<uint8_t>(&text);
      break;
    case kBinUnicode:
    case kBinString:
    case kBinBytes:
      ok = TakeBytes<uint32_t>(&text);
      break;
    case kBinUnicode8:
    case kBinBytes8:
    case kByteArray8:
      ok = TakeBytes<uint64_t>(&text);
      break;
    case kUnicode:
      return TakeLine(&text) && Push(consumer_.Text(DecodeRawUnicode(text)));
    default:  // kString: a Python literal in quotes
      return TakeLine(&text) && Push(consumer_.Text(DecodeQuoted(text)));
  }
  return ok && Push(consumer_.Text(text));
}

// ---- containers ----

template <class Consumer>
bool Machine<Consumer>::AppendItems() {
  std::span<const Value> items;
  Value owner;
  if (!TakeMarked(&items, &owner)) return false;
  if (!consumer_.Append(owner, items)) {
    FailHere("APPENDS meets something that is no list.");
    return false;
  }
  DropMark();
  return true;
}

template <class Consumer>
bool Machine<Consumer>::SetMarkedItems() {
  std::span<const Value> items;
  Value owner;
  if (!TakeMarked(&items, &owner)) return false;
  LearnShape(items);
  if (items.size() % 2 != 0 || !consumer_.SetItems(owner, items)) {
    FailHere("SETITEMS meets something that is no dict, or a key without a value.");
    return false;
  }
  DropMark();
  return true;
}

template <class Consumer>
bool Machine<Consumer>::PushTuple(size_t count) {
  if (!Has(count)) return false;
  const Value tuple = consumer_.Tuple(Top(count));
  stack_.Truncate(stack_.size() - count);
  return Push(tuple);
}

template <class Consumer>
bool Machine<Consumer>::StepContainer(uint8_t opcode) {
  switch (opcode) {
    case kEmptyDict:
      return Push(consumer_.NewDict());
    case kEmptyList:
    case kEmptySet:
      return Push(consumer_.NewList());
    case kEmptyTuple:
      return PushTuple(0);
    case kTuple1:
    case kTuple2:
    case kTuple3:
      return PushTuple(static_cast<size_t>(opcode - kTuple1) + 1);
    case kAppends:
    case kAddItems:
      return AppendItems();
    case kSetItems:
      return SetMarkedItems();
    case kAppend:
      if (!Has(2)) return false;
      if (!consumer_.Append(Top(2)[0], Top(1))) {
        FailHere("APPEND meets something that is no list.");
        return false;
      }
      stack_.Truncate(stack_.size() - 1);
      return true;
    case kSetItem:
      if (!Has(3)) return false;
      if (!consumer_.SetItems(Top(3)[0], Top(2))) {
        FailHere("SETITEM meets something that is no dict.");
        return false;
      }
      stack_.Truncate(stack_.size() - 2);
      return true;
    default:
      return PushMarkedContainer(opcode);
  }
}

// TUPLE, LIST, DICT and FROZENSET: a container of everything above the mark.
template <class Consumer>
bool Machine<Consumer>::PushMarkedContainer(uint8_t opcode) {
  std::span<const Value> items;
  if (!TakeMarked(&items)) return false;
  Value made;
  if (opcode == kTuple) {
    made = consumer_.Tuple(items);
  } else if (opcode == kDict) {
    if (items.size() % 2 != 0) {
      FailHere("DICT has a key without a value.");
      return false;
    }
    made = consumer_.NewDict();
    if (!items.empty()) (void)consumer_.SetItems(made, items);
  } else {
    made = consumer_.NewList();
    if (!items.empty()) (void)consumer_.Append(made, items);
  }
  DropMark();
  return Push(made);
}

// ---- memo ----

template <class Consumer>
bool Machine<Consumer>::PutMemo(uint64_t index) {
  if (!Has(1)) return false;
  if (index >= memo_.size()) {
    // Writers number memo entries densely; a far index would only make us allocate.
    if (index > memo_writes_ + limits_.memo_slack) {
      Fail(ErrorCode::kLimitExceeded,
           fmt::format("A memo index ({}) lies far beyond the number of memo entries ({}).", index, memo_writes_),
           op_offset());
      return false;
    }
    if (index == memo_.size()) {
      memo_.PushBack(Top(1)[0]);
    } else {
      memo_.Resize(index + 1, Value());
      memo_[index] = Top(1)[0];
    }
  } else {
    memo_[index] = Top(1)[0];
  }
  ++memo_writes_;
  return true;
}

template <class Consumer>
bool Machine<Consumer>::StepMemo(uint8_t opcode) {
  if (opcode == kBinPut) return Need(1) && PutMemo(Take<uint8_t>());
  if (opcode == kLongBinPut) return Need(4) && PutMemo(Take<uint32_t>());
  std::string_view line;
  if (!TakeLine(&line)) return false;
  uint64_t index = 0;
  const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), index);
  if (problem != std::errc{} || end != line.data() + line.size()) {
    FailHere("A memo index in text form is no number.");
    return false;
  }
  return opcode == kGet ? GetMemo(index) : PutMemo(index);
}

// ---- what would run code ----

template <class Consumer>
bool Machine<Consumer>::Refuse(uint8_t opcode, std::string_view global) {
  const std::string what = global.empty() ? "something outside the file" : fmt::format("\"{}\"", global);
  Fail(ErrorCode::kUnsupportedFormat,
       fmt::format(
           "The pickle asks to load or call {} ({}). Nothing in a file is ever executed, so it is refused; a memory "
           "snapshot holds only data.",
           what, OpcodeName(opcode)),
       op_offset());
  return false;
}

template <class Consumer>
bool Machine<Consumer>::PushGlobal(uint8_t opcode, std::string_view module, std::string_view name) {
  for (size_t i = 0; i < std::size(kHarmlessGlobals); ++i) {
    if (module == kHarmlessGlobals[i].module && name == kHarmlessGlobals[i].name) {
      return Push(Value(Kind::kGlobal, static_cast<int64_t>(i)));
    }
  }
  return Refuse(opcode, fmt::format("{}.{}", ReplaceControl(module), ReplaceControl(name)));
}

template <class Consumer>
bool Machine<Consumer>::Call(uint8_t opcode) {
  // callable, arguments: only a harmless global with a tuple of arguments that the consumer keeps as such.
  if (!Has(2)) return false;
  const Value arguments = Top(1)[0];
  const Value callable = Top(2)[0];
  if (!callable.is(Kind::kGlobal) || !arguments.is(Kind::kTuple)) return Refuse(opcode, "");
  const Value made = consumer_.Harmless(kHarmlessGlobals[callable.handle()].which, arguments);
  stack_.Truncate(stack_.size() - 2);
  return Push(made);
}

template <class Consumer>
bool Machine<Consumer>::StepGlobal(uint8_t opcode) {
  std::string_view first;
  switch (opcode) {
    case kGlobal:
    case kInst: {
      if (!TakeLine(&first)) return false;
      const std::string module(first);
      std::string_view name;
      if (!TakeLine(&name)) return false;
      if (opcode == kInst) return Refuse(opcode, fmt::format("{}.{}", ReplaceControl(module), ReplaceControl(name)));
      return PushGlobal(opcode, module, name);
    }
    case kStackGlobal: {
      if (!Has(2)) return false;
      const Value name = Top(1)[0];
      const Value module = Top(2)[0];
      if (!name.is(Kind::kText) || !module.is(Kind::kText)) return Refuse(opcode, "");
      const std::string module_text(consumer_.GetText(module));
      const std::string name_text(consumer_.GetText(name));
      stack_.Truncate(stack_.size() - 2);
      return PushGlobal(opcode, module_text, name_text);
    }
    case kReduce:
    case kNewObj:
      return Call(opcode);
    case kPersId:
      if (!TakeLine(&first)) return false;
      return Refuse(opcode, ReplaceControl(first));
    default:
      return Refuse(opcode, "");
  }
}

// Values above `floor` whose own container lies just below them: a writer that was cut off between making a value and
// putting it in. Only what is certain is put in: records into lists, lists into lists that are themselves a value, and
// (outside any mark, where protocol 0 works) a key and its value into a dict. A dict that protocol 0 has not put into its
// list yet may be half a record, and is dropped.
template <class Consumer>
void Machine<Consumer>::CollapseTop(size_t floor, bool inside_dict) {
  while (stack_.size() > floor + 1) {
    const Value top = Top(1)[0];
    const Value below = Top(2)[0];
    const bool in_marks = floor > 0;
    if (below.is(Kind::kList) && (top.is(Kind::kDict) || (top.is(Kind::kList) && (inside_dict || !in_marks)))) {
      if (in_marks || top.is(Kind::kList)) (void)consumer_.Append(below, Top(1));
    } else if (!in_marks && below.is(Kind::kText) && stack_.size() > 2 && Top(3)[0].is(Kind::kDict)) {
      (void)consumer_.SetItems(Top(3)[0], Top(2));
      stack_.Truncate(stack_.size() - 1);
    } else if (in_marks || !top.is(Kind::kText) || !below.is(Kind::kDict)) {
      return;
    }
    stack_.Truncate(stack_.size() - 1);
  }
}

template <class Consumer>
void Machine<Consumer>::CloseOpenContainers() {
  while (!marks_.empty()) {
    const size_t mark = marks_.back();
    const bool is_outermost = marks_.size() == 1;
    const size_t floor = is_outermost ? 0 : marks_[marks_.size() - 2];
    const Value owner = mark > floor ? stack_[mark - 1] : Value();
    CollapseTop(mark, owner.is(Kind::kDict));
    const std::span<const Value> items = stack_.span().subspan(mark);
    if (owner.is(Kind::kList) && !items.empty()) {
      (void)consumer_.Append(owner, items);
    } else if (owner.is(Kind::kDict) && is_outermost && items.size() >= 2) {
      (void)consumer_.SetItems(owner, items.first(items.size() / 2 * 2));
    }
    DropMark();
    // A dict below the outermost one is a record of some list: half a record is none.
    if (owner.is(Kind::kDict) && !is_outermost) stack_.Truncate(mark - 1);
  }
  CollapseTop(0, false);
  stack_.Truncate(1);  // the root
}

}  // namespace memstrata::pickle
