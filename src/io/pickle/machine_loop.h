#pragma once
// The loop of the pickle machine. Part of io/pickle/machine.h; include that.
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
  Value values[kMostShapeKeys + 1];  // the last stays None
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
          *top = consumer_.ShapedDict(values);
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

}  // namespace memstrata::pickle
