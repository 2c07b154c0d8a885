#pragma once
// A picture as SVG, with text as text.

#include <string>

#include "report/picture/canvas.h"

namespace memstrata {

class SvgCanvas final : public Canvas {
 public:
  void Rectangle(Point corner, double width, double height, Colour fill, double radius) override;
  void Polygon(std::span<const Point> points, Colour fill) override;
  void Polyline(std::span<const Point> points, const Stroke& stroke) override;
  void Circle(Point centre, double radius, Colour fill, const Stroke& stroke) override;
  void Text(Point base, std::string_view text, const TextLook& look) override;

  /// The whole document; `title` is what a screen reader says.
  std::string Finish(double width, double height, std::string_view title) const;

 private:
  std::string body_;
};

/// `text` for the content or an attribute of XML; characters that XML does not allow become spaces.
std::string EscapeXml(std::string_view text);

}  // namespace memstrata
