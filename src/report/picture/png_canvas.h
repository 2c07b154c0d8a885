#pragma once
// A picture as pixels, drawn by cairo with the fonts of the machine.

#include <memory>

#include "base/byte_sink.h"
#include "report/picture/canvas.h"

namespace memstrata {

class PngCanvas final : public Canvas {
 public:
  /// `scale`: pixels of a px; 2 is sharp on every screen.
  PngCanvas(double width, double height, double scale);
  ~PngCanvas() override;
  PngCanvas(const PngCanvas&) = delete;
  PngCanvas& operator=(const PngCanvas&) = delete;

  void Rectangle(Point corner, double width, double height, Colour fill, double radius) override;
  void Polygon(std::span<const Point> points, Colour fill) override;
  void Polyline(std::span<const Point> points, const Stroke& stroke) override;
  void Circle(Point centre, double radius, Colour fill, const Stroke& stroke) override;
  void Text(Point base, std::string_view text, const TextLook& look) override;

  /// Width that the font in use gives a text; for tests of TextWidth.
  double MeasuredWidth(std::string_view text, double size, FontWeight weight);

  /// errors: kIo when memory ran out or the sink failed
  Status Write(ByteSink& sink);

 private:
  struct Surface;
  std::unique_ptr<Surface> surface_;
};

}  // namespace memstrata
