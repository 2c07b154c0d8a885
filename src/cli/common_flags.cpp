#include "cli/common_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace memstrata::cli {

std::string ProgressText(const ReadProgress& progress) {
  const uint64_t total_bytes = progress.total_bytes.value_or(0);
  if (total_bytes == 0) return fmt::format("{}: {}", progress.file, FormatBytes(progress.read_bytes));
  const double share =
      static_cast<double>(std::min(progress.read_bytes, total_bytes)) / static_cast<double>(total_bytes);
  return fmt::format("{}: {}", progress.file, FormatPercent(share));
}

Result<Store> OpenFiles(const Arguments& arguments, Console& console) {
  const std::string format = arguments.Get("--format").value_or("");
  OpenOptions options;
  options.format = format;
  options.context.limits = DefaultReadLimits();
  options.context.progress = [&console](const ReadProgress& progress) { console.Progress(ProgressText(progress)); };
  Result<Store> store = OpenSession(arguments.positionals, options);
  console.ClearProgress();
  if (!store) return store;
  for (const Source& source : store->sources) {
    if (source.truncated)
      console.Message(fmt::format("{}: The file is incomplete; what could be read is shown.", source.file));
  }
  return store;
}

}  // namespace memstrata::cli
