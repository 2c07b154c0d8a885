#include "cli/picture_flags.h"

#include <fmt/format.h>

namespace memstrata::cli {

Result<PictureOptions> PictureOptionsFrom(const Arguments& arguments) {
  PictureOptions options;
  options.heap = arguments.Get("--heap").value_or("");
  const std::string word = arguments.Get("--theme").value_or("light");
  const std::optional<ThemeName> theme = ParseThemeName(word);
  if (!theme)
    return Fail(ErrorCode::kInvalidArgument, fmt::format("There is no theme \"{}\"; there are light and dark.", word));
  options.theme = *theme;
  return options;
}

}  // namespace memstrata::cli
