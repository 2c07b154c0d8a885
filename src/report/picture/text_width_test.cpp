#include "report/picture/text_width.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/picture/png_canvas.h"

namespace memstrata {
namespace {

TEST(TextWidth, GrowsWithTextSizeAndWeight) {
  EXPECT_EQ(TextWidth("", 12, FontWeight::kRegular), 0);
  EXPECT_DOUBLE_EQ(TextWidth("00", 12, FontWeight::kRegular), 2 * 0.556 * 12);
  EXPECT_DOUBLE_EQ(TextWidth("ab", 24, FontWeight::kRegular), 2 * TextWidth("ab", 12, FontWeight::kRegular));
  EXPECT_GT(TextWidth("memory", 12, FontWeight::kBold), TextWidth("memory", 12, FontWeight::kRegular));
}

TEST(TextWidth, CountsCharactersNotBytes) { EXPECT_DOUBLE_EQ(TextWidth("\u2212", 10, FontWeight::kRegular), 5.56); }

TEST(FitText, CutsBetweenCharacters) {
  EXPECT_EQ(FitText("short", 12, FontWeight::kRegular, 100), "short");
  const std::string cut = FitText("\u00E4\u00E4\u00E4\u00E4\u00E4\u00E4", 10, FontWeight::kRegular, 20);
  EXPECT_EQ(cut, "\u00E4\u00E4\u2026");
  EXPECT_LE(TextWidth(FitText(std::string(500, 'm'), 12, FontWeight::kBold, 80), 12, FontWeight::kBold), 80);
}

// The table is held against the font that PNG pictures are drawn with.
TEST(TextWidth, IsThatOfTheFont) {
  PngCanvas canvas(10, 10, 1);
  constexpr std::string_view kText = "The peak, 32.8 GiB (4.64 GiB each): 36 layers x [a-z] {A-Z} & more";
  for (const FontWeight weight : {FontWeight::kRegular, FontWeight::kBold}) {
    const double measured = canvas.MeasuredWidth(kText, 12, weight);
    const double iiii = canvas.MeasuredWidth("iiiiiiiiii", 12, weight);
    if (std::fabs(iiii - TextWidth("iiiiiiiiii", 12, weight)) > 4) {
      GTEST_SKIP() << "neither Liberation Sans nor a face of its widths is installed";
    }
    EXPECT_NEAR(measured, TextWidth(kText, 12, weight), 0.02 * measured);
  }
}

}  // namespace
}  // namespace memstrata
