#include "report/picture/text_width.h"

namespace memstrata {
namespace {

constexpr double kUnitsPerEm = 1000;
constexpr double kOtherWidth = 556;
constexpr unsigned char kFirst = ' ';
constexpr unsigned char kLast = '~';

constexpr uint16_t kRegularWidths[] = {
    278,  278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,  // space to /
    556,  556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,  // 0 to ?
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,  // @ to O
    667,  778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,  // P to _
    333,  556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,  // ` to o
    556,  556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,       // p to ~
};
constexpr uint16_t kBoldWidths[] = {
    278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278,  //
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 333, 333, 584, 584, 584, 611,  //
    975, 722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722, 611, 833, 722, 778,  //
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584, 556,  //
    333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611,  //
    611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584,       //
};
static_assert(std::size(kRegularWidths) == kLast - kFirst + 1);
static_assert(std::size(kBoldWidths) == kLast - kFirst + 1);

bool IsContinuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

double WidthOf(unsigned char byte, FontWeight weight) {
  if (IsContinuation(byte)) return 0;
  if (byte < kFirst || byte > kLast) return kOtherWidth;
  return weight == FontWeight::kBold ? kBoldWidths[byte - kFirst] : kRegularWidths[byte - kFirst];
}

}  // namespace

double TextWidth(std::string_view utf8, double size, FontWeight weight) {
  double units = 0;
  for (const char c : utf8) units += WidthOf(static_cast<unsigned char>(c), weight);
  return units * size / kUnitsPerEm;
}

std::string FitText(std::string_view utf8, double size, FontWeight weight, double width) {
  if (TextWidth(utf8, size, weight) <= width) return std::string(utf8);
  constexpr std::string_view kEllipsis = "…";
  while (!utf8.empty() && TextWidth(utf8, size, weight) + TextWidth(kEllipsis, size, weight) > width) {
    while (utf8.size() > 1 && IsContinuation(static_cast<unsigned char>(utf8.back()))) utf8.remove_suffix(1);
    utf8.remove_suffix(1);
  }
  while (utf8.ends_with(' ')) utf8.remove_suffix(1);
  return std::string(utf8) + std::string(kEllipsis);
}

}  // namespace memstrata
