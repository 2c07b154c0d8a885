#pragma once
// A pickle machine that executes nothing.
//
// It moves values between a stack, a memo and a Consumer, which says what containers become. Data opcodes of protocols
// 0 to 5 are carried out; an opcode that would import, call or build something ends the run with an error that names
// the global and the offset, except for the few globals that the Consumer knows as harmless (see globals.h).
//
// Memory is bounded: texts have a limit, the memo only grows densely, stack and marks have limits. There is no
// recursion.
//
//   struct Consumer {                                    // all calls are direct, none virtual
//     Value Text(std::string_view bytes);                // str, bytes, bytearray
//     Value BigInteger(uint64_t bits, bool is_negative); // does not fit 60 bits; two's complement
//     Value HugeInteger();                               // more than 64 bits: no size or address
//     Value Float(double);
//     Value NewList(); Value NewDict();                  // sets are lists
//     Value Tuple(std::span<const Value> items);
//     bool Append(Value list, std::span<const Value> items);     // false: `list` is no list
//     bool SetItems(Value dict, std::span<const Value> pairs);   // key, value, key, value …
//     bool LearnShape(std::span<const Value> pairs);    // whether dicts with these keys, in this order, may be made by
//     Value ShapedDict(const Value* values);            // this call, which gets the values of such a dict at once, and
//                                                       // None at index kMostShapeKeys
//     Value Harmless(HarmlessGlobal which, Value arguments);     // a tuple
//     std::string_view GetText(Value text) const;
//     bool over_limit() const;                           // asked now and then; true ends the run
//     void BeginClosing();                               // the rest closes what a broken document left open
//   };

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <string>

#include "base/column.h"
#include "io/pickle/globals.h"
#include "io/pickle/opcodes.h"
#include "io/pickle/text_forms.h"
#include "io/pickle/value.h"
#include "io/pickle/window.h"

namespace memstrata::pickle {

struct Limits {
  uint64_t longest_text_bytes = 16ULL << 20;
  uint64_t stack_values = 64ULL << 20;
  uint64_t marks = 1ULL << 20;
  uint64_t memo_slack = 1ULL << 20;  // how far a memo index may lie beyond the number of memo writes
};

/// How a run ended.
struct Outcome {
  Value root;             // of a complete run, or what could be saved of a broken one
  bool complete = false;  // STOP was reached
  std::optional<Error> error;
  uint64_t end_offset_bytes = 0;
  uint8_t protocol = 0;
};

template <class Consumer>
class Machine {
 public:
  Machine(ByteSource& source, Consumer& consumer, const Limits& limits = {})
      : consumer_(consumer), limits_(limits), window_(source, limits.longest_text_bytes) {}

  /// Runs to STOP, to an error, or to the end of the input. After an error or a cut-off, everything that lies open on
  /// the stack is closed as if the writer had ended its containers there, so that what was read is not lost.
  Outcome Run() {
    Loop();
    Outcome outcome;
    outcome.complete = stopped_;
    outcome.error = std::move(error_);
    outcome.protocol = protocol_;
    outcome.end_offset_bytes = window_.offset_bytes();
    if (!stopped_) {
      consumer_.BeginClosing();
      CloseOpenContainers();
    }
    if (!stack_.empty()) outcome.root = stack_[stack_.size() - 1];
    return outcome;
  }

  /// What follows STOP.
  Window& rest() { return window_; }

 private:
  // ---- errors ----
  void Fail(ErrorCode code, std::string message, uint64_t offset) {
    if (!error_) error_ = Error{code, std::move(message), {}, offset};
  }
  void FailHere(std::string message) { Fail(ErrorCode::kCorruptInput, std::move(message), op_offset()); }
  bool Truncated() {
    if (window_.error()) {
      if (!error_) error_ = window_.error();
    } else {
      Fail(ErrorCode::kTruncatedInput, "The pickle ends in the middle.", window_.offset_bytes());
    }
    return false;
  }
  uint64_t op_offset() const { return op_offset_; }

  // ---- input ----
  bool Need(uint64_t count) { return window_.Ensure(count) || Truncated(); }
  template <class T>
  T Take() {
    T value;
    std::memcpy(&value, window_.cursor, sizeof value);
    window_.cursor += sizeof value;
    return value;
  }
  template <class Length>
  bool TakeBytes(std::string_view* bytes) {
    if (!Need(sizeof(Length))) return false;
    const auto length = static_cast<uint64_t>(Take<Length>());
    if (!Need(length)) return false;
    *bytes = {reinterpret_cast<const char*>(window_.cursor), static_cast<size_t>(length)};
    window_.cursor += length;
    return true;
  }
  bool TakeLine(std::string_view* line);

  // ---- stack ----
  bool Push(Value value) {
    if (stack_.size() >= limits_.stack_values) {
      Fail(ErrorCode::kLimitExceeded, "The pickle needs more than 64 Mi values at a time; no capture does.",
           op_offset());
      return false;
    }
    stack_.PushBack(value);
    return true;
  }
  bool Has(size_t count) {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - floor >= count) return true;
    FailHere("A pickle opcode takes more values than there are.");
    return false;
  }
  std::span<const Value> Top(size_t count) const { return stack_.span().last(count); }
  /// What lies above the last mark.
  bool TakeMarked(std::span<const Value>* items) {
    if (marks_.empty()) {
      FailHere("A pickle opcode needs a MARK, and there is none.");
      return false;
    }
    *items = stack_.span().subspan(marks_.back());
    return true;
  }
  /// The same, and the container below the mark that they belong to.
  bool TakeMarked(std::span<const Value>* items, Value* owner) {
    if (!TakeMarked(items)) return false;
    const size_t mark = marks_.back();
    const size_t floor = marks_.size() > 1 ? marks_[marks_.size() - 2] : 0;
    if (mark <= floor) {
      FailHere("A pickle opcode has no container to put its values into.");
      return false;
    }
    *owner = stack_[mark - 1];
    return true;
  }
  void DropMark() {
    stack_.Truncate(marks_.back());
    marks_.pop_back();
  }

  // ---- opcode groups; each returns false to stop ----
  void Loop();
  bool FastSteps();
  const uint8_t* ShapedDict(const uint8_t* at, const uint8_t* safe, const Value* memo, size_t memo_size,
                            Value* values) const;
  void LearnShape(std::span<const Value> pairs);
  bool Step(uint8_t opcode);
  bool StepNumber(uint8_t opcode);
  bool StepText(uint8_t opcode);
  bool StepContainer(uint8_t opcode);
  bool StepMemo(uint8_t opcode);
  bool StepGlobal(uint8_t opcode);
  bool AppendItems();
  bool SetMarkedItems();
  bool PushTuple(size_t count);
  bool PushMarkedContainer(uint8_t opcode);
  bool PushInteger(int64_t number) {
    return Push(Value::FitsInline(number) ? Value(Kind::kInt, number)
                                          : consumer_.BigInteger(static_cast<uint64_t>(number), number < 0));
  }
  bool PushLong(std::string_view little_endian);
  bool PushDecimal(std::string_view digits);
  bool PutMemo(uint64_t index);
  bool GetMemo(uint64_t index) {
    if (index < memo_.size()) [[likely]]
      return Push(memo_[index]);
    FailHere("A pickle opcode reads a memo entry that was never written.");
    return false;
  }
  bool Refuse(uint8_t opcode, std::string_view global);
  bool PushGlobal(uint8_t opcode, std::string_view module, std::string_view name);
  bool Call(uint8_t opcode);
  void CloseOpenContainers();
  void CollapseTop(size_t floor, bool inside_dict);

  Consumer& consumer_;
  Limits limits_;
  Window window_;
  Column<Value> stack_;
  std::vector<uint64_t> marks_;  // stack heights
  Column<Value> memo_;
  uint64_t memo_writes_ = 0;
  // The keys of the last dict that the consumer took as a record: the next ones will have the same, in the same order.
  std::array<Value, kMostShapeKeys> shape_keys_{};
  size_t shape_key_count_ = 0;
  std::optional<Error> error_;
  uint64_t op_offset_ = 0;  // of the opcode that Step() carries out
  uint8_t protocol_ = 0;
  bool stopped_ = false;
};

}  // namespace memstrata::pickle

#include "io/pickle/machine_closing.h"  // IWYU pragma: export
#include "io/pickle/machine_globals.h"  // IWYU pragma: export
#include "io/pickle/machine_loop.h"     // IWYU pragma: export
#include "io/pickle/machine_steps.h"    // IWYU pragma: export
