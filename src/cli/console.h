#pragma once
// What a verb may do with the outside: its standard output, its messages, its errors. One place decides about colour,
// progress (only on a terminal, only on stderr) and the form of an error.

#include <string>
#include <string_view>

#include "base/byte_sink.h"
#include "base/result.h"

namespace memstrata::cli {

class Console {
 public:
  Console();

  ByteSink& out() { return out_; }
  /// Colour on stdout: it is a terminal, NO_COLOR is unset and TERM is not "dumb".
  bool use_color() const { return use_color_; }
  /// Columns of the terminal, or 100 where there is none.
  int width() const { return width_; }

  /// A sentence on stderr, prefixed "memstrata: ".
  void Message(std::string_view text);
  /// Several lines on stderr, as they are.
  void Block(std::string_view text);
  /// A line that replaces itself on stderr; nothing when stderr is not a terminal or `--quiet` was given.
  void Progress(std::string_view text);
  void ClearProgress();
  void set_quiet(bool quiet) { quiet_ = quiet; }

  /// The sentence on stderr and, with `json`, the memstrata.error/1 object on stdout. Returns the exit status for it:
  /// 2 for kInvalidArgument, 1 for everything else.
  int ReportError(const Error& error, bool json);
  /// Flushes stdout; kExitError with a message when that fails, otherwise `status`.
  int Finish(int status);
  /// Either of them: the exit status of a verb, or its error.
  int Finish(const Result<int>& status, bool json) {
    return status ? Finish(*status) : ReportError(status.error(), json);
  }

 private:
  FileSink out_;
  bool use_color_ = false;
  bool show_progress_ = false;
  bool progress_shown_ = false;
  bool quiet_ = false;
  int width_ = 100;
};

}  // namespace memstrata::cli
