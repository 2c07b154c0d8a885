#include "report/picture/picture_file.h"

#include <fmt/format.h>

#include "base/units.h"
#include "report/picture/picture_words.h"
#include "report/picture/png_canvas.h"
#include "report/picture/svg_canvas.h"
#include "report/picture/timeline_picture.h"

namespace memstrata {
namespace {

constexpr double kPngScale = 2;  // pixels of a px: sharp on every screen

/// What is drawn.
struct Subject {
  HeapEntry* heap = nullptr;
  ExplainAnswer answer;

  const HeapExplained& explained() const { return answer.heaps.front(); }
};

Result<Subject> FindSubject(SessionIndex& session, const PictureOptions& options) {
  HeapEntry* heap = session.DefaultHeap();
  for (const std::unique_ptr<HeapEntry>& entry : session.heaps()) {
    if (!options.heap.empty() && entry->heap.id == options.heap) heap = entry.get();
  }
  if (heap == nullptr) return Fail(ErrorCode::kNotFound, "There is no heap to draw: the file holds none.");
  MEMSTRATA_ASSIGN_OR_RETURN(ExplainAnswer answer,
                             Explain(session.analyses(), options.heap.empty() ? heap->heap.id : options.heap));
  return Subject{heap, std::move(answer)};
}

Result<std::string> DrawSvg(SessionIndex& session, const Subject& subject, ThemeName theme) {
  SvgCanvas canvas;
  MEMSTRATA_TRY(DrawTimeline(session, *subject.heap, subject.explained(), ThemeOf(theme), canvas));
  return canvas.Finish(kPictureWidth, kPictureHeight, PictureTitle(subject.explained()));
}

std::string MarkItem(const Mark& mark) {
  return fmt::format("<li><b>{}</b><br>{}</li>\n", EscapeXml(mark.text), EscapeXml(MarkReading(mark.kind)));
}

}  // namespace

Status WritePictureSvg(SessionIndex& session, const PictureOptions& options, ByteSink& sink) {
  MEMSTRATA_ASSIGN_OR_RETURN(const Subject subject, FindSubject(session, options));
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string svg, DrawSvg(session, subject, options.theme));
  return sink.Write(svg);
}

Status WritePicturePng(SessionIndex& session, const PictureOptions& options, ByteSink& sink) {
  MEMSTRATA_ASSIGN_OR_RETURN(const Subject subject, FindSubject(session, options));
  PngCanvas canvas(kPictureWidth, kPictureHeight, kPngScale);
  MEMSTRATA_TRY(DrawTimeline(session, *subject.heap, subject.explained(), ThemeOf(options.theme), canvas));
  return canvas.Write(sink);
}

Status WritePictureHtml(SessionIndex& session, const PictureOptions& options, ByteSink& sink) {
  MEMSTRATA_ASSIGN_OR_RETURN(const Subject subject, FindSubject(session, options));
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string svg, DrawSvg(session, subject, options.theme));
  const HeapExplained& explained = subject.explained();
  const Theme& theme = ThemeOf(options.theme);
  std::string body;
  if (!explained.marks.anatomy.empty()) {
    body += fmt::format("<h2>Step {}, from left to right</h2>\n<ol>\n", explained.marks.step);
    for (const uint32_t index : explained.marks.anatomy) body += MarkItem(explained.marks.marks[index]);
    body += "</ol>\n";
  }
  return sink.Write(fmt::format(
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\">\n<title>{0}</title>\n"
      "<style>body{{margin:0 auto;max-width:1600px;background:#{1:06X};color:#{2:06X};font:15px/22px \"Liberation "
      "Sans\",Arial,sans-serif}}svg{{width:100%;height:auto}}h2{{margin:16px 40px 0;font-size:18px}}li{{margin:0 40px "
      "8px}}</style>\n{3}{4}</html>\n",
      EscapeXml(PictureTitle(explained)), theme.surface.rgb, theme.ink.rgb, svg, body));
}

}  // namespace memstrata
