#pragma once
// The small patterns that describe messages: literal words with places for values.
//
//   FindPattern("Tried to allocate 1.50 GiB (GPU 0; …", "Tried to allocate <size> (GPU <int>")
//
// Places: <size> number with a unit; <bytes> whole number of bytes, commas allowed; <int> whole number; <decimal>;
// <word> up to a space or one of ,;)]"' ; <skip> at most kMostSkipped characters, as few as possible.
// Letters match in their own case. No backtracking beyond <skip>: the cost is O(text × pattern) at worst.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace memstrata::oom {

/// A value of a message. Units are binary whatever they are called (docs/howto/out_of_memory.md).
struct Value {
  double number = 0;             // as printed, in its unit
  uint64_t bytes = 0;            // saturates at 2^64 - 1; of a negative number the magnitude
  uint64_t tolerance_bytes = 0;  // half a step of the last printed digit
  bool is_negative = false;
  std::string_view text;  // of <word>

  /// No device has this much: a counter that was missing or ran below zero.
  bool IsImpossible() const { return bytes >= uint64_t{1} << 60; }
};

inline constexpr size_t kMostValues = 6;
inline constexpr size_t kMostSkipped = 240;

struct PatternMatch {
  size_t begin = 0;
  size_t end = 0;
  size_t value_count = 0;
  std::array<Value, kMostValues> values;
};

/// The first match at or after `from`.
std::optional<PatternMatch> FindPattern(std::string_view text, std::string_view pattern, size_t from = 0);

/// A match that begins exactly at `at`.
std::optional<PatternMatch> MatchPattern(std::string_view text, std::string_view pattern, size_t at);

}  // namespace memstrata::oom
