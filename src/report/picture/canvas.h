#pragma once
// What a picture is drawn on: SVG text or the pixels of a PNG. Units are CSS px, the origin is the top left corner.

#include <span>
#include <string_view>

#include "report/picture/text_width.h"

namespace memstrata {

struct Point {
  double x = 0;
  double y = 0;
};

struct Colour {
  uint32_t rgb = 0;
  double alpha = 1;

  Colour Faded(double to_alpha) const { return {rgb, to_alpha}; }
};

struct Stroke {
  Colour colour;
  double width = 1;
  double dash = 0;  // length of a dash; 0 = solid
  double gap = 0;
};

enum class TextAnchor : uint8_t { kStart, kMiddle, kEnd };

struct TextLook {
  double size = 12;
  Colour colour;
  FontWeight weight = FontWeight::kRegular;
  TextAnchor anchor = TextAnchor::kStart;
};

class Canvas {
 public:
  virtual ~Canvas() = default;

  virtual void Rectangle(Point corner, double width, double height, Colour fill, double radius = 0) = 0;
  virtual void Polygon(std::span<const Point> points, Colour fill) = 0;
  virtual void Polyline(std::span<const Point> points, const Stroke& stroke) = 0;
  virtual void Circle(Point centre, double radius, Colour fill, const Stroke& stroke) = 0;
  /// One line of UTF-8; `base` is the left, middle or right end of its base line.
  virtual void Text(Point base, std::string_view text, const TextLook& look) = 0;

  void Line(Point from, Point to, const Stroke& stroke) {
    const Point points[] = {from, to};
    Polyline(points, stroke);
  }
};

}  // namespace memstrata
