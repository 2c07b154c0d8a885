#pragma once
// Colours of a picture: those of the page (ui/src/base/palette.ts), whose tests check them for contrast and for readers
// who do not tell all colours apart.

#include <optional>
#include <string_view>

#include "report/picture/canvas.h"

namespace memstrata {

struct Theme {
  Colour surface;
  Colour sunken;
  Colour line;
  Colour grid;
  Colour ink;
  Colour ink2;
  Colour ink3;
  Colour alarm;  // out of memory
  Colour idle;   // reserved but not in use
  Colour phases[3];
  struct Category {
    std::string_view name;
    Colour fill;
    Colour text;  // on the fill
  };
  Category categories[11];

  /// Fill and text of a category; those of "unknown" for a name that has none.
  const Category& Of(std::string_view category) const;
};

enum class ThemeName : uint8_t { kLight, kDark };

const Theme& ThemeOf(ThemeName name);

/// "light", "dark"; nothing for other words.
std::optional<ThemeName> ParseThemeName(std::string_view word);

}  // namespace memstrata
