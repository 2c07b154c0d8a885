#include "oom/text/log_text.h"

#include <algorithm>

#include "base/flat_map.h"

namespace memstrata::oom {
namespace {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

struct Replacement {
  std::string_view from;
  std::string_view to;
};
// Escapes of JSON strings and of HTML, and the marks of Markdown.
constexpr Replacement kReplacements[] = {
    {"\\n", " "},     {"\\t", " "},     {"\\r", " "},     {"\\\"", "\""}, {"\\'", "'"},  {"\\/", "/"},
    {"\\u003c", "<"}, {"\\u003e", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&lt;", "<"}, {"&gt;", ">"},
    {"&amp;", "&"},   {"<br>", " "},    {"`", ""},        {"**", ""},
};

constexpr std::string_view kFirstOfReplaced = "\\&<`*";

// Length of a terminal escape sequence (ESC [ … letter) at `at`, 0 if there is none.
size_t EscapeLength(std::string_view line, size_t at) {
  if (line[at] != '\x1b') return 0;
  if (at + 1 >= line.size() || line[at + 1] != '[') return 1;
  size_t end = at + 2;
  while (end < line.size() && (IsDigit(line[end]) || line[end] == ';' || line[end] == '?')) ++end;
  return std::min(end + 1, line.size()) - at;
}

// Length of what names the writer at the beginning of a line, 0 if nothing does: "[rank3]:", "[default3]:",
// "(Worker_TP0 pid=12)", "(RayTrainWorker pid=12, ip=10.0.0.1)".
size_t PrefixLength(std::string_view line) {
  if (line.empty() || line.size() < 4) return 0;
  if (line[0] == '[') {
    const size_t close = line.find(']');
    const bool is_rank = line.starts_with("[rank") || line.starts_with("[default");
    if (!is_rank || close == std::string_view::npos || close > 24 || !IsDigit(line[close - 1])) return 0;
    return close + 1;
  }
  if (line[0] != '(') return 0;
  const size_t close = line.find(')');
  if (close == std::string_view::npos || close > 120) return 0;
  const size_t pid = line.substr(0, close).find("pid=");
  return pid == std::string_view::npos ? 0 : close + 1;
}

size_t SkipBlanks(std::string_view line, size_t at) {
  while (at < line.size() && IsBlank(line[at])) ++at;
  return at;
}

void AppendClean(std::string_view line, std::string& text) {
  const auto append = [&text](char c) {
    if (c == ' ' && (text.empty() || text.back() == ' ')) return;
    text.push_back(c);
  };
  for (size_t at = 0; at < line.size();) {
    if (const size_t length = EscapeLength(line, at); length > 0) {
      at += length;
      continue;
    }
    const auto* replacement =
        kFirstOfReplaced.find(line[at]) == std::string_view::npos
            ? std::end(kReplacements)
            : std::find_if(std::begin(kReplacements), std::end(kReplacements), [&](const auto& r) {
                return line[at] == r.from[0] && line.substr(at, r.from.size()) == r.from;
              });
    if (replacement != std::end(kReplacements)) {
      for (const char c : replacement->to) append(c);
      at += replacement->from.size();
      continue;
    }
    append(IsBlank(line[at]) || line[at] == '\0' ? ' ' : line[at]);
    ++at;
  }
}

class LogReader {
 public:
  std::vector<LogStream> Read(std::string_view bytes) {
    uint32_t number = 0;
    while (!bytes.empty()) {
      const size_t end = std::min(bytes.find('\n'), bytes.size());
      AddLine(bytes.substr(0, end), ++number);
      bytes.remove_prefix(std::min(end + 1, bytes.size()));
    }
    return std::move(streams_);
  }

 private:
  void AddLine(std::string_view line, uint32_t number) {
    size_t at = SkipBlanks(line, 0);
    while (at < line.size() && line[at] == '>') at = SkipBlanks(line, at + 1);  // quoted in a thread or mail
    const size_t length = PrefixLength(line.substr(at));
    std::string_view prefix = line.substr(at, length);
    at = SkipBlanks(line, at + length);
    if (length > 0 && at < line.size() && line[at] == ':') ++at;
    LogStream& stream = StreamOf(prefix);
    if (!stream.text.empty() && stream.text.back() != ' ') stream.text.push_back(' ');
    stream.lines.emplace_back(stream.text.size(), number);
    AppendClean(line.substr(at), stream.text);
  }

  LogStream& StreamOf(std::string_view prefix) {
    const auto found = index_.find(std::string(prefix));
    if (found != index_.end()) return streams_[found->second];
    if (streams_.size() == kMostStreams) return streams_.back();
    index_.emplace(std::string(prefix), streams_.size());
    streams_.push_back({std::string(prefix), {}, {}});
    return streams_.back();
  }

  std::vector<LogStream> streams_;
  FlatMap<std::string, size_t> index_;
};

}  // namespace

uint32_t LogStream::LineOf(size_t at) const {
  const auto after = std::upper_bound(lines.begin(), lines.end(), at,
                                      [](size_t position, const auto& line) { return position < line.first; });
  return after == lines.begin() ? 0 : std::prev(after)->second;
}

std::vector<LogStream> ReadLog(std::string_view bytes) { return LogReader().Read(bytes); }

}  // namespace memstrata::oom
