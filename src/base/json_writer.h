#pragma once
// Streaming JSON output: deterministic, two-space indented, one place that knows the rules of our JSON:
// unknown is null, an integer above 2^53 - 1 is a string "0x…" (JavaScript would round it), text is valid UTF-8.
//
//   JsonWriter json;
//   json.StartObject();
//   json.Key("peak"); json.Value(uint64_t{42});
//   json.EndObject();
//   json.Finish();   // → "{\n  \"peak\": 42\n}\n"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace memstrata {

class JsonWriter {
 public:
  enum class Style : uint8_t { kIndented, kCompact };

  explicit JsonWriter(Style style = Style::kIndented);
  ~JsonWriter();
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  void StartObject();
  void EndObject();
  void StartArray();
  void EndArray();
  void Key(std::string_view key);

  void Null();
  void Value(bool value);
  void Value(uint64_t value);
  void Value(int64_t value);
  void Value(uint32_t value) { Value(uint64_t{value}); }
  void Value(int32_t value) { Value(int64_t{value}); }
  /// NaN and infinities have no JSON form and become null.
  void Value(double value);
  /// Bytes that are not UTF-8 are replaced by U+FFFD.
  void Value(std::string_view text);
  void Value(const char* text) { Value(std::string_view(text)); }
  template <class T>
  void Value(const std::optional<T>& value) {
    if (value) {
      Value(*value);
    } else {
      Null();
    }
  }

  /// Key and value in one call.
  template <class T>
  void Field(std::string_view key, const T& value) {
    Key(key);
    Value(value);
  }
  void NullField(std::string_view key) {
    Key(key);
    Null();
  }
  /// A text that is not known where it is empty: null then.
  void TextOrNull(std::string_view key, std::string_view text) {
    Key(key);
    text.empty() ? Null() : Value(text);
  }
  /// An array of strings.
  template <class Range>
  void Texts(std::string_view key, const Range& texts) {
    Key(key);
    StartArray();
    for (const auto& text : texts) Value(std::string_view(text));
    EndArray();
  }
  /// A list that is part of the form and has nothing in it.
  void EmptyArray(std::string_view key) {
    Key(key);
    StartArray();
    EndArray();
  }

  /// What was written so far and not taken yet (for streaming large documents in pieces).
  std::string TakeText();
  /// Ends the document with a newline and returns the rest of it.
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// `text` with each byte sequence that is not valid UTF-8 replaced by U+FFFD; cost O(n), no copy when already valid is
/// needed by the caller (`valid` tells).
std::string ReplaceInvalidUtf8(std::string_view text);
bool IsValidUtf8(std::string_view text);

}  // namespace memstrata
