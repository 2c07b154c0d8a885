#include "cli/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "base/json_writer.h"
#include "cli/subcommand.h"

namespace memstrata::cli {

Console::Console() : out_(stdout) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  use_color_ = isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0') && !dumb;
  show_progress_ = isatty(STDERR_FILENO) == 1;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) width_ = size.ws_col;
}

void Console::Message(std::string_view text) {
  ClearProgress();
  fmt::print(stderr, "memstrata: {}\n", text);
}

void Console::Block(std::string_view text) {
  ClearProgress();
  fmt::print(stderr, "{}", text);
}

void Console::Progress(std::string_view text) {
  if (!show_progress_ || quiet_) return;
  fmt::print(stderr, "\r\x1b[K{}", text);
  std::fflush(stderr);
  progress_shown_ = true;
}

void Console::ClearProgress() {
  if (!progress_shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  progress_shown_ = false;
}

int Console::ReportError(const Error& error, bool json) {
  std::string sentence = error.file.empty() ? error.message : fmt::format("{}: {}", error.file, error.message);
  if (error.offset_bytes) sentence += fmt::format(" (at byte {})", *error.offset_bytes);
  Message(sentence);
  if (json) {
    JsonWriter writer;
    writer.StartObject();
    writer.Field("schema", "memstrata.error/1");
    writer.Field("code", ErrorCodeName(error.code));
    writer.Field("message", std::string_view(error.message));
    writer.Field("file", std::string_view(error.file));
    writer.Field("offset", error.offset_bytes);
    writer.EndObject();
    (void)out_.Write(writer.Finish());
  }
  return Finish(error.code == ErrorCode::kInvalidArgument ? kExitUsage : kExitError);
}

int Console::Finish(int status) {
  ClearProgress();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    Message("The output could not be written (disk full or closed pipe).");
    return kExitError;
  }
  return status;
}

}  // namespace memstrata::cli
