#pragma once
// How wide a line of text is, without a font file: labels are placed before anything is drawn, the same way for SVG,
// whose reader chooses the font, and for PNG.

#include <cstdint>
#include <string>
#include <string_view>

namespace memstrata {

enum class FontWeight : uint8_t { kRegular, kBold };

/// The family that pictures ask for: faces with the advance widths that TextWidth knows.
inline constexpr std::string_view kFontFamily = "Liberation Sans";

/// In px at a font size in px. Characters outside ASCII count as wide as a digit.
/// Source: the advance widths of Helvetica in its published font metrics, which Arial and Liberation Sans share.
double TextWidth(std::string_view utf8, double size, FontWeight weight);

/// `text`, or its beginning and "…" where it is wider.
std::string FitText(std::string_view utf8, double size, FontWeight weight, double width);

}  // namespace memstrata
