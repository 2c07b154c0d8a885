#include "report/registry.h"

#include "report/html/html_report.h"
#include "report/json/summary_json.h"
#include "report/svg/timeline_svg.h"

namespace memstrata {
namespace {

Status WriteHtml(SessionIndex& session, ByteSink& sink) { return WriteHtmlReport(session, {}, sink); }

Status WriteJson(SessionIndex& session, ByteSink& sink) {
  MEMSTRATA_ASSIGN_OR_RETURN(const SummaryAnswer answer, Summarize(session.store(), {}));
  return WriteSummaryJson(answer, sink);
}

constexpr WriterInfo kHtml = {".html", WriteHtml};
constexpr WriterInfo kJson = {".json", WriteJson};
constexpr WriterInfo kSvg = {".svg", WriteTimelineSvg};

}  // namespace

std::span<const WriterInfo* const> AllWriters() {
  static constexpr const WriterInfo* kAll[] = {&kHtml, &kSvg, &kJson};
  return kAll;
}

}  // namespace memstrata
