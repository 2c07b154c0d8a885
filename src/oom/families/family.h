#pragma once
// One family of messages: what a framework, an engine or a driver prints when memory runs out. Each has its file here
// and one line in families/registry.cpp. A family finds its messages by fixed words, reads the figures by a table of
// clauses, and judges from the figures alone: advice that is printed in a message is constant text and no evidence.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "oom/oom_report.h"
#include "oom/text/facts.h"
#include "oom/text/log_text.h"

namespace memstrata::oom {

/// Appends a report for each message of the family; `line` and `where` included.
using FindMessages = void (*)(const LogStream& stream, std::vector<OomReport>& reports);

/// The one list, in the order in which families that recognise the same line win.
std::span<const FindMessages> AllFamilies();

/// Starts a report of a message that begins at `at`.
inline OomReport StartReport(const LogStream& stream, size_t at, std::string_view kind, std::string_view format) {
  OomReport report;
  report.kind = kind;
  report.format = format;
  report.where = stream.prefix;
  report.line = stream.LineOf(at);
  return report;
}

/// Calls `found(window, at)` for each occurrence of the words `head`. The window begins `back` characters before them
/// and reaches to the next occurrence, or `reach` characters; `at` is where the words begin in the stream.
template <class Found>
void ForEachMessage(std::string_view text, std::string_view head, size_t back, size_t reach, Found&& found) {
  size_t previous_end = 0;
  for (size_t at = text.find(head); at != std::string_view::npos;) {
    const size_t next = text.find(head, at + head.size());
    const size_t begin = std::max(previous_end, at - std::min(at, back));
    const size_t end = std::min({next, at + reach, text.size()});
    found(text.substr(begin, end - begin), at);
    previous_end = at + head.size();
    at = next;
  }
}

inline std::string Show(const std::optional<uint64_t>& size_bytes) {
  return size_bytes ? FormatBytes(*size_bytes) : "an unknown amount";
}
inline double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}
inline uint64_t MinusOr0(uint64_t a, uint64_t b) { return a - std::min(a, b); }

/// Refuses to explain: says which counters disagree, and takes back what follows from them.
void Refuse(OomReport& report, std::string reason);
/// A failure whose message carries no sizes: what is missing and how to get it.
void MarkMasked(OomReport& report, std::string text, std::string how_to_get);

/// The engine's own setting first, where the text shows that an engine serves. After all families. cost: O(bytes)
void AdviseEngines(std::string_view text, std::vector<OomReport>& reports);

// One file each.
void FindTorch(const LogStream& stream, std::vector<OomReport>& reports);
void FindTorchOther(const LogStream& stream, std::vector<OomReport>& reports);
void FindXlaGpu(const LogStream& stream, std::vector<OomReport>& reports);
void FindXlaTpu(const LogStream& stream, std::vector<OomReport>& reports);
void FindBfc(const LogStream& stream, std::vector<OomReport>& reports);
void FindVllm(const LogStream& stream, std::vector<OomReport>& reports);
void FindSglang(const LogStream& stream, std::vector<OomReport>& reports);
void FindLlamaCpp(const LogStream& stream, std::vector<OomReport>& reports);
void FindCuda(const LogStream& stream, std::vector<OomReport>& reports);
void FindHost(const LogStream& stream, std::vector<OomReport>& reports);
void FindProcessTable(const LogStream& stream, std::vector<OomReport>& reports);

}  // namespace memstrata::oom
