#pragma once
// A pasted message or a log, made ready for patterns: one stream of text for each rank or worker that writes into it,
// in which a message is whole again although it was wrapped, prefixed, coloured, quoted or put into a JSON string.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace memstrata::oom {

struct LogStream {
  std::string prefix;                              // "[rank3]", "(Worker pid=71)"; empty for lines without one
  std::string text;                                // lines joined by one space; runs of blanks are one space
  std::vector<std::pair<size_t, uint32_t>> lines;  // where each line begins, and its number in the input, 1-based

  /// Number of the line that holds a position of `text`. cost: O(log lines)
  uint32_t LineOf(size_t at) const;
};

/// In order of first line. Colours, carriage returns, Markdown's quote marks and back quotes, the escapes of JSON and
/// of HTML are taken off. At most kMostStreams prefixes are kept apart; what comes after shares the last one.
/// cost: O(bytes)
std::vector<LogStream> ReadLog(std::string_view bytes);
inline constexpr size_t kMostStreams = 4096;

}  // namespace memstrata::oom
