#pragma once
// Streams a JSON document into the same Consumer as pickle::Machine: one parser for what third parties write with the
// schema of a pickle. The document is never held; arrays are handed on in batches, objects when they end.
//
// RapidJSON's SAX parser does the lexing, iteratively (no recursion), over a window of the source.

#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <vector>

#include "io/pickle/machine.h"

namespace memstrata::json {

/// RapidJSON's input stream over a Window.
class WindowStream {
 public:
  using Ch = char;
  WindowStream(pickle::Window& window, const uint64_t& token_end_offset)
      : window_(window), token_end_offset_(token_end_offset) {}
  Ch Peek() const { return window_.Ensure(1) && !token_too_long_ ? static_cast<Ch>(*window_.cursor) : '\0'; }
  Ch Take() {
    if (window_.cursor == window_.limit) [[unlikely]] {
      // The parser collects a text before it hands it on: one that never ends must end here.
      token_too_long_ = window_.offset_bytes() - token_end_offset_ > kLongestTokenBytes;
      if (token_too_long_ || !window_.Ensure(1)) return '\0';
    }
    return static_cast<Ch>(*window_.cursor++);
  }
  bool token_too_long() const { return token_too_long_; }
  size_t Tell() const { return static_cast<size_t>(window_.offset_bytes()); }
  // Required by the concept, used only when writing.
  Ch* PutBegin() { return nullptr; }
  void Put(Ch) {}
  void Flush() {}
  size_t PutEnd(Ch*) { return 0; }

 private:
  static constexpr uint64_t kLongestTokenBytes = 16ULL << 20;

  pickle::Window& window_;
  const uint64_t& token_end_offset_;
  bool token_too_long_ = false;
};

template <class Consumer>
class Machine {
 public:
  Machine(ByteSource& source, Consumer& consumer)
      : consumer_(consumer), window_(source, pickle::Limits{}.longest_text_bytes) {}

  /// As pickle::Machine::Run: after an error or a cut-off, open containers are closed as they are.
  pickle::Outcome Run() {
    WindowStream stream(window_, token_end_offset_);
    SkipByteOrderMark();
    rapidjson::Reader reader;
    constexpr unsigned kFlags =
        rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag | rapidjson::kParseStopWhenDoneFlag;
    const rapidjson::ParseResult parsed = reader.Parse<kFlags>(stream, *this);
    pickle::Outcome outcome;
    outcome.complete = !parsed.IsError();
    if (stream.token_too_long()) limit_ = "A text or a gap of the JSON document is longer than 16 MiB.";
    if (parsed.IsError()) outcome.error = Explain(parsed);
    outcome.end_offset_bytes = window_.offset_bytes();
    if (!open_.empty()) consumer_.BeginClosing();
    while (!open_.empty()) Close();
    if (!values_.empty()) outcome.root = values_[0];
    return outcome;
  }
  pickle::Window& rest() { return window_; }

  // ---- RapidJSON's handler ----
  bool Null() { return Add({pickle::Kind::kNone, 0}); }
  bool Bool(bool value) { return Add({pickle::Kind::kBool, value ? 1 : 0}); }
  bool Int(int value) { return Int64(value); }
  bool Uint(unsigned value) { return Int64(value); }
  bool Int64(int64_t value) {
    return Add(pickle::Value::FitsInline(value) ? pickle::Value(pickle::Kind::kInt, value)
                                                : consumer_.BigInteger(static_cast<uint64_t>(value), value < 0));
  }
  bool Uint64(uint64_t value) {
    return value < uint64_t{1} << 59 ? Int64(static_cast<int64_t>(value)) : Add(consumer_.BigInteger(value, false));
  }
  bool Double(double value) { return Add(consumer_.Float(value)); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return false; }  // only with kParseNumbersAsStringsFlag
  bool String(const char* text, rapidjson::SizeType length, bool) { return Add(consumer_.Text({text, length})); }
  bool Key(const char* text, rapidjson::SizeType length, bool copy) { return String(text, length, copy); }
  bool StartObject() { return Open(consumer_.NewDict()); }
  bool EndObject(rapidjson::SizeType) { return Close(); }
  bool StartArray() { return Open(consumer_.NewList()); }
  bool EndArray(rapidjson::SizeType) { return Close(); }

 private:
  static constexpr size_t kDeepest = 10'000;
  static constexpr size_t kBatch = 1'000;
  static constexpr size_t kMostValues = 64ULL << 20;

  struct OpenContainer {
    pickle::Value container;
    size_t first;  // index of its first pending item in values_
  };

  void SkipByteOrderMark() {
    if (window_.Ensure(3) && window_.cursor[0] == 0xEF && window_.cursor[1] == 0xBB && window_.cursor[2] == 0xBF)
      window_.cursor += 3;
  }
  bool Add(pickle::Value value) {
    token_end_offset_ = window_.offset_bytes();
    if (values_.size() >= kMostValues) return Stop("An object of the JSON document has more than 64 Mi values.");
    values_.push_back(value);
    if (!open_.empty() && open_.back().container.is(pickle::Kind::kList) &&
        values_.size() - open_.back().first >= kBatch) {
      Flush();
      if (consumer_.over_limit()) return Stop("The capture needs more memory than the limit allows.");
    }
    return true;
  }
  bool Open(pickle::Value container) {
    if (open_.size() >= kDeepest) return Stop("The JSON document is nested more than 10,000 levels deep.");
    open_.push_back({container, values_.size()});
    return true;
  }
  void Flush() {
    const OpenContainer& top = open_.back();
    const std::span<const pickle::Value> items = std::span<const pickle::Value>(values_).subspan(top.first);
    if (top.container.is(pickle::Kind::kList)) {
      (void)consumer_.Append(top.container, items);
    } else {
      (void)consumer_.SetItems(top.container, items.first(items.size() / 2 * 2));
    }
    values_.resize(top.first);
  }
  bool Close() {
    Flush();
    const pickle::Value container = open_.back().container;
    open_.pop_back();
    return Add(container);
  }
  bool Stop(const char* why) {
    limit_ = why;
    return false;
  }
  Error Explain(const rapidjson::ParseResult& parsed) {
    if (window_.error()) return *window_.error();
    if (limit_ != nullptr) return Error{ErrorCode::kLimitExceeded, limit_, {}, parsed.Offset()};
    if (window_.at_end() && window_.available() == 0)
      return Error{ErrorCode::kTruncatedInput, "The JSON document ends in the middle.", {}, parsed.Offset()};
    return Error{ErrorCode::kCorruptInput,
                 fmt::format("The JSON document is damaged: {}", rapidjson::GetParseError_En(parsed.Code())),
                 {},
                 parsed.Offset()};
  }

  Consumer& consumer_;
  pickle::Window window_;
  std::vector<OpenContainer> open_;
  std::vector<pickle::Value> values_;
  uint64_t token_end_offset_ = 0;
  const char* limit_ = nullptr;
};

}  // namespace memstrata::json
