#include "report/picture/picture_words.h"

#include <fmt/format.h>

#include "base/units.h"

namespace memstrata {
namespace {

std::string_view FirstSentence(std::string_view text) {
  const size_t end = text.find(". ");
  if (end != std::string_view::npos) return text.substr(0, end);
  return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

}  // namespace

std::string PictureTitle(const HeapExplained& explained) {
  for (const Finding& finding : explained.findings) {
    if (finding.severity != FindingSeverity::kInfo || finding.id == "peak")
      return std::string(FirstSentence(finding.text));
  }
  return fmt::format("{} of live memory at the peak", FormatBytes(explained.analysis.peak.bytes));
}

std::string PictureAdvice(const HeapExplained& explained) {
  for (const Finding& finding : explained.findings) {
    if (!finding.remedy.empty()) return finding.remedy;
  }
  return explained.findings.empty() ? "" : explained.findings.front().text;
}

}  // namespace memstrata
