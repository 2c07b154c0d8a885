#pragma once
// Flags of the verbs that draw.

#include "cli/subcommand.h"
#include "report/picture/picture_file.h"

namespace memstrata::cli {

inline constexpr FlagSpec kThemeFlag = {"--theme", "", "NAME", "Colours of a picture: light (default) or dark"};

/// From --theme and --heap. errors: kInvalidArgument for an unknown theme
Result<PictureOptions> PictureOptionsFrom(const Arguments& arguments);

}  // namespace memstrata::cli
