#include "report/picture/picture_words.h"

#include <fmt/format.h>

#include "base/units.h"

namespace memstrata {
namespace {

std::string_view WithoutStop(std::string_view sentence) {
  return sentence.ends_with('.') ? sentence.substr(0, sentence.size() - 1) : sentence;
}

}  // namespace

std::string PictureTitle(const HeapExplained& explained) {
  for (const Finding& finding : explained.findings) {
    if (finding.severity != FindingSeverity::kInfo || finding.id == "peak")
      return std::string(WithoutStop(finding.text));
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
