// Any bytes as a pasted out-of-memory message or log. Nothing may be invented: a report has a sentence, its figures are
// ones that a device can have, and a contradiction is never explained.

#include <cstdlib>

#include "oom/oom_text.h"
#include "report/json/oom_json.h"
#include "report/text/oom_text.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void Check(const memstrata::OomReport& report) {
  Require(!report.text.empty() && !report.kind.empty() && !report.format.empty());
  Require(report.line > 0 && report.count > 0);
  if (report.verdict != memstrata::OomVerdict::kContradictory) return;
  Require(!report.short_by_bytes && report.remedies.empty() && !report.missing.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const memstrata::OomAnswer answer = memstrata::ExplainOutOfMemoryText(text);
  for (const memstrata::OomReport& report : answer.messages) Check(report);
  memstrata::StringSink sink;
  (void)memstrata::WriteOomJson(answer, sink);
  (void)memstrata::WriteOomText(answer, {}, sink);
  return 0;
}
