#pragma once
// Pieces that XLA's text reports of buffers have in common: lines with their place in the file, and sizes as people
// read them ("1.53MiB").

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memstrata::xla {

/// Walks over the lines of a text.
class LineWalk {
 public:
  explicit LineWalk(std::string_view text) : text_(text) {}
  /// Moves to the next line; false at the end.
  bool Next();
  /// Without its line end.
  std::string_view line() const { return line_; }
  uint64_t offset_bytes() const { return begin_; }
  /// The line has no line end: the file may have been cut off in it.
  bool is_open() const { return next_ > text_.size(); }

 private:
  std::string_view text_;
  std::string_view line_;
  size_t begin_ = 0;
  size_t next_ = 0;
};

/// Without spaces and tabs at both ends.
std::string_view Trimmed(std::string_view text);
/// The number that follows `key` in `text`; nothing when there is none.
std::optional<uint64_t> NumberAfter(std::string_view text, std::string_view key);

/// A size as XLA writes it: "12B", "392.0KiB", "1.53MiB".
std::string ReportBytes(uint64_t size_bytes);
/// The size that such a text stands for, rounded as the text is; nothing when it is no size.
std::optional<uint64_t> ParseReportBytes(std::string_view text);

}  // namespace memstrata::xla
