#include "report/picture/svg_canvas.h"

#include <fmt/format.h>

#include "base/json_writer.h"

namespace memstrata {
namespace {

std::string Paint(std::string_view attribute, Colour colour) {
  std::string paint = fmt::format(" {}=\"#{:06X}\"", attribute, colour.rgb);
  if (colour.alpha < 1) paint += fmt::format(" {}-opacity=\"{:.2f}\"", attribute, colour.alpha);
  return paint;
}

std::string StrokePaint(const Stroke& stroke) {
  std::string paint = Paint("stroke", stroke.colour) + fmt::format(" stroke-width=\"{:.2f}\"", stroke.width);
  if (stroke.dash > 0) paint += fmt::format(" stroke-dasharray=\"{:.1f} {:.1f}\"", stroke.dash, stroke.gap);
  return paint;
}

std::string PathOf(std::span<const Point> points) {
  std::string path;
  for (size_t i = 0; i < points.size(); ++i) {
    if (i > 0 && points[i].y == points[i - 1].y) {
      path += fmt::format("H{:.1f}", points[i].x);
    } else if (i > 0 && points[i].x == points[i - 1].x) {
      path += fmt::format("V{:.1f}", points[i].y);
    } else {
      path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", points[i].x, points[i].y);
    }
  }
  return path;
}

constexpr std::string_view kAnchors[] = {"start", "middle", "end"};

}  // namespace

std::string EscapeXml(std::string_view text) {
  std::string escaped;
  for (const char c : ReplaceInvalidUtf8(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return escaped;
}

void SvgCanvas::Rectangle(Point corner, double width, double height, Colour fill, double radius) {
  body_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"{}", corner.x, corner.y,
                       width, height, Paint("fill", fill));
  if (radius > 0) body_ += fmt::format(" rx=\"{:.1f}\"", radius);
  body_ += "/>\n";
}

void SvgCanvas::Polygon(std::span<const Point> points, Colour fill) {
  body_ += fmt::format("<path d=\"{}Z\"{}/>\n", PathOf(points), Paint("fill", fill));
}

void SvgCanvas::Polyline(std::span<const Point> points, const Stroke& stroke) {
  body_ += fmt::format("<path d=\"{}\" fill=\"none\"{}/>\n", PathOf(points), StrokePaint(stroke));
}

void SvgCanvas::Circle(Point centre, double radius, Colour fill, const Stroke& stroke) {
  body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"{}{}/>\n", centre.x, centre.y, radius,
                       Paint("fill", fill), StrokePaint(stroke));
}

void SvgCanvas::Text(Point base, std::string_view text, const TextLook& look) {
  body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:g}\"{}", base.x, base.y, look.size,
                       Paint("fill", look.colour));
  if (look.weight == FontWeight::kBold) body_ += " font-weight=\"600\"";
  if (look.anchor != TextAnchor::kStart)
    body_ += fmt::format(" text-anchor=\"{}\"", kAnchors[static_cast<size_t>(look.anchor)]);
  body_ += fmt::format(">{}</text>\n", EscapeXml(text));
}

std::string SvgCanvas::Finish(double width, double height, std::string_view title) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\" "
      "role=\"img\" font-family=\"'{2}', Arial, Helvetica, sans-serif\">\n<title>{3}</title>\n{4}</svg>\n",
      width, height, kFontFamily, EscapeXml(title), body_);
}

}  // namespace memstrata
