#include "report/picture/svg_canvas.h"

#include <gtest/gtest.h>

namespace memstrata {
namespace {

TEST(SvgCanvas, EscapesWhatFilesBring) {
  EXPECT_EQ(EscapeXml("<a & \"b\">\x01"), "&lt;a &amp; &quot;b&quot;&gt; ");
  SvgCanvas canvas;
  canvas.Text({1, 2}, "</text><script>", {12, {0x171C22}});
  const std::string svg = canvas.Finish(10, 20, "a < b");
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_NE(svg.find("<title>a &lt; b</title>"), std::string::npos);
}

TEST(SvgCanvas, WritesStepsAsHorizontalAndVerticalLines) {
  SvgCanvas canvas;
  const Point points[] = {{0, 5}, {10, 5}, {10, 2}, {20, 1}};
  canvas.Polyline(points, {{0x000000}, 1});
  EXPECT_NE(canvas.Finish(20, 20, "").find("d=\"M0.0 5.0H10.0V2.0L20.0 1.0\""), std::string::npos);
}

TEST(SvgCanvas, WritesOpacityOnlyWhereThereIsSome) {
  SvgCanvas canvas;
  canvas.Rectangle({0, 0}, 1, 1, {0xFFFFFF}, 0);
  EXPECT_EQ(canvas.Finish(1, 1, "").find("opacity"), std::string::npos);
  canvas.Rectangle({0, 0}, 1, 1, Colour{0xFFFFFF}.Faded(0.5), 0);
  EXPECT_NE(canvas.Finish(1, 1, "").find("fill-opacity=\"0.50\""), std::string::npos);
}

}  // namespace
}  // namespace memstrata
