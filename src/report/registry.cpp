#include "report/registry.h"

#include <fmt/format.h>

#include "report/csv/holders_csv.h"
#include "report/html/html_report.h"
#include "report/json/summary_json.h"
#include "report/markdown/markdown_report.h"

namespace memstrata {
namespace {

Status WriteHtml(SessionIndex& session, const ReportOptions& options, ByteSink& sink) {
  HtmlReportOptions html;
  html.full = options.full;
  return WriteHtmlReport(session, html, sink);
}

Status WriteSvg(SessionIndex& session, const ReportOptions& options, ByteSink& sink) {
  return WritePictureSvg(session, options.picture, sink);
}

Status WritePng(SessionIndex& session, const ReportOptions& options, ByteSink& sink) {
  return WritePicturePng(session, options.picture, sink);
}

Status WritePicturePage(SessionIndex& session, const ReportOptions& options, ByteSink& sink) {
  return WritePictureHtml(session, options.picture, sink);
}

Status WriteJson(SessionIndex& session, const ReportOptions&, ByteSink& sink) {
  MEMSTRATA_ASSIGN_OR_RETURN(const SummaryAnswer answer, Summarize(session.analyses(), {}));
  return WriteSummaryJson(answer, sink);
}

Status WriteMarkdown(SessionIndex& session, const ReportOptions&, ByteSink& sink) {
  return WriteMarkdownReport(session, sink);
}

Status WriteCsv(SessionIndex& session, const ReportOptions&, ByteSink& sink) {
  return WriteHoldersCsv(session.store(), sink);
}

constexpr WriterInfo kHtml = {".html", true, WriteHtml};
constexpr WriterInfo kSvg = {".svg", false, WriteSvg};
constexpr WriterInfo kPng = {".png", false, WritePng};
constexpr WriterInfo kPicturePage = {".html", false, WritePicturePage};
constexpr WriterInfo kJson = {".json", false, WriteJson};
constexpr WriterInfo kMarkdown = {".md", false, WriteMarkdown};
constexpr WriterInfo kCsv = {".csv", false, WriteCsv};

}  // namespace

std::span<const WriterInfo* const> AllWriters() {
  static constexpr const WriterInfo* kAll[] = {&kHtml, &kSvg, &kPng, &kJson, &kMarkdown, &kCsv};
  return kAll;
}

std::span<const WriterInfo* const> PictureWriters() {
  static constexpr const WriterInfo* kAll[] = {&kPng, &kSvg, &kPicturePage};
  return kAll;
}

Result<const WriterInfo*> WriterFor(std::string_view path, std::span<const WriterInfo* const> writers) {
  std::string known;
  for (const WriterInfo* writer : writers) {
    if (path.ends_with(writer->suffix)) return writer;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", writer->suffix);
  }
  return Fail(ErrorCode::kInvalidArgument, fmt::format("The end of the name says what to write: {}.", known));
}

}  // namespace memstrata
