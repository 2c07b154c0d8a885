#include "report/picture/png_canvas.h"

#include <cairo.h>

#include <numbers>
#include <string>

#include "base/json_writer.h"

namespace memstrata {

struct PngCanvas::Surface {
  cairo_surface_t* pixels;
  cairo_t* pen;
};

namespace {

void SetColour(cairo_t* pen, Colour colour) {
  const auto part = [&](uint32_t shift) { return static_cast<double>(colour.rgb >> shift & 0xFF) / 255; };
  cairo_set_source_rgba(pen, part(16), part(8), part(0), colour.alpha);
}

void Trace(cairo_t* pen, std::span<const Point> points) {
  cairo_new_path(pen);
  for (const Point& point : points) cairo_line_to(pen, point.x, point.y);
}

void DrawStroke(cairo_t* pen, const Stroke& stroke) {
  SetColour(pen, stroke.colour);
  cairo_set_line_width(pen, stroke.width);
  const double dashes[] = {stroke.dash, stroke.gap};
  cairo_set_dash(pen, dashes, stroke.dash > 0 ? 2 : 0, 0);
  cairo_stroke(pen);
}

void SetFont(cairo_t* pen, double size, FontWeight weight) {
  cairo_select_font_face(pen, std::string(kFontFamily).c_str(), CAIRO_FONT_SLANT_NORMAL,
                         weight == FontWeight::kBold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(pen, size);
}

double AdvanceOf(cairo_t* pen, const std::string& text) {
  cairo_text_extents_t extents;
  cairo_text_extents(pen, text.c_str(), &extents);
  return extents.x_advance;
}

// Text that a file brought may be anything; cairo wants UTF-8 without control characters.
std::string Printable(std::string_view text) {
  std::string printable = ReplaceInvalidUtf8(text);
  for (char& c : printable) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return printable;
}

cairo_status_t WriteToSink(void* sink, const unsigned char* bytes, unsigned int size) {
  const std::string_view part(reinterpret_cast<const char*>(bytes), size);
  return static_cast<ByteSink*>(sink)->Write(part) ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

}  // namespace

PngCanvas::PngCanvas(double width, double height, double scale) : surface_(std::make_unique<Surface>()) {
  surface_->pixels =
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width * scale), static_cast<int>(height * scale));
  surface_->pen = cairo_create(surface_->pixels);
  cairo_scale(surface_->pen, scale, scale);
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_set_font_options(surface_->pen, options);
  cairo_font_options_destroy(options);
}

PngCanvas::~PngCanvas() {
  cairo_destroy(surface_->pen);
  cairo_surface_destroy(surface_->pixels);
}

void PngCanvas::Rectangle(Point corner, double width, double height, Colour fill, double radius) {
  cairo_t* pen = surface_->pen;
  SetColour(pen, fill);
  cairo_new_path(pen);
  if (radius > 0) {
    const double quarter = std::numbers::pi / 2;
    const double right = corner.x + width - radius;
    const double bottom = corner.y + height - radius;
    cairo_arc(pen, right, corner.y + radius, radius, -quarter, 0);
    cairo_arc(pen, right, bottom, radius, 0, quarter);
    cairo_arc(pen, corner.x + radius, bottom, radius, quarter, 2 * quarter);
    cairo_arc(pen, corner.x + radius, corner.y + radius, radius, 2 * quarter, 3 * quarter);
    cairo_close_path(pen);
  } else {
    cairo_rectangle(pen, corner.x, corner.y, width, height);
  }
  cairo_fill(pen);
}

void PngCanvas::Polygon(std::span<const Point> points, Colour fill) {
  Trace(surface_->pen, points);
  SetColour(surface_->pen, fill);
  cairo_fill(surface_->pen);
}

void PngCanvas::Polyline(std::span<const Point> points, const Stroke& stroke) {
  Trace(surface_->pen, points);
  DrawStroke(surface_->pen, stroke);
}

void PngCanvas::Circle(Point centre, double radius, Colour fill, const Stroke& stroke) {
  cairo_t* pen = surface_->pen;
  cairo_new_path(pen);
  cairo_arc(pen, centre.x, centre.y, radius, 0, 2 * std::numbers::pi);
  SetColour(pen, fill);
  cairo_fill_preserve(pen);
  DrawStroke(pen, stroke);
}

void PngCanvas::Text(Point base, std::string_view text, const TextLook& look) {
  cairo_t* pen = surface_->pen;
  const std::string printable = Printable(text);
  SetFont(pen, look.size, look.weight);
  SetColour(pen, look.colour);
  const double width = AdvanceOf(pen, printable);
  const double left = look.anchor == TextAnchor::kStart ? 0 : look.anchor == TextAnchor::kEnd ? width : width / 2;
  cairo_move_to(pen, base.x - left, base.y);
  cairo_show_text(pen, printable.c_str());
}

double PngCanvas::MeasuredWidth(std::string_view text, double size, FontWeight weight) {
  SetFont(surface_->pen, size, weight);
  return AdvanceOf(surface_->pen, Printable(text));
}

Status PngCanvas::Write(ByteSink& sink) {
  cairo_status_t status = cairo_status(surface_->pen);
  if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_write_to_png_stream(surface_->pixels, WriteToSink, &sink);
  if (status == CAIRO_STATUS_SUCCESS) return {};
  return Fail(ErrorCode::kIo, std::string("The picture cannot be written: ") + cairo_status_to_string(status) + ".");
}

}  // namespace memstrata
