#include "report/registry.h"

#include "report/csv/holders_csv.h"
#include "report/html/html_report.h"
#include "report/json/summary_json.h"
#include "report/markdown/markdown_report.h"
#include "report/svg/timeline_svg.h"

namespace memstrata {
namespace {

Status WriteHtml(SessionIndex& session, const ReportOptions& options, ByteSink& sink) {
  HtmlReportOptions html;
  html.full = options.full;
  return WriteHtmlReport(session, html, sink);
}

Status WriteSvg(SessionIndex& session, const ReportOptions&, ByteSink& sink) { return WriteTimelineSvg(session, sink); }

Status WriteJson(SessionIndex& session, const ReportOptions&, ByteSink& sink) {
  MEMSTRATA_ASSIGN_OR_RETURN(const SummaryAnswer answer, Summarize(session.store(), {}));
  return WriteSummaryJson(answer, sink);
}

Status WriteMarkdown(SessionIndex& session, const ReportOptions&, ByteSink& sink) {
  return WriteMarkdownReport(session.store(), sink);
}

Status WriteCsv(SessionIndex& session, const ReportOptions&, ByteSink& sink) {
  return WriteHoldersCsv(session.store(), sink);
}

constexpr WriterInfo kHtml = {".html", true, WriteHtml};
constexpr WriterInfo kSvg = {".svg", false, WriteSvg};
constexpr WriterInfo kJson = {".json", false, WriteJson};
constexpr WriterInfo kMarkdown = {".md", false, WriteMarkdown};
constexpr WriterInfo kCsv = {".csv", false, WriteCsv};

}  // namespace

std::span<const WriterInfo* const> AllWriters() {
  static constexpr const WriterInfo* kAll[] = {&kHtml, &kSvg, &kJson, &kMarkdown, &kCsv};
  return kAll;
}

}  // namespace memstrata
