#include "cli/common_flags.h"

#include <fmt/format.h>

namespace memstrata::cli {

Result<Store> OpenFiles(const Arguments& arguments, Console& console) {
  const std::string format = arguments.Get("--format").value_or("");
  OpenOptions options;
  options.format = format;
  options.context.limits = DefaultReadLimits();
  options.context.progress = [&console](std::string_view text) { console.Progress(text); };
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
