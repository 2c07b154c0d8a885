#pragma once
// Small files that a dry run leaves for its processes and in its session.

#include <string>
#include <string_view>

#include "base/result.h"

namespace memstrata::dryrun {

/// The whole file, in the place of an earlier one. error: kIo.
Status WriteTextFile(const std::string& path, std::string_view content);

}  // namespace memstrata::dryrun
