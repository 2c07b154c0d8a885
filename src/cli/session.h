#pragma once
// Reads files into a session that can be asked (query/session_index.h), for the verbs that show one.

#include <functional>
#include <memory>

#include "cli/subcommand.h"
#include "query/session_index.h"
#include "readers/reader.h"
#include "report/registry.h"

namespace memstrata::cli {

/// Takes --format and --redact from the arguments. `progress` may be empty.
Result<std::shared_ptr<SessionIndex>> LoadSession(const std::vector<std::string>& files, const Arguments& arguments,
                                                  const std::function<void(const ReadProgress&)>& progress);

/// Reads the files named on the command line and writes what `writer` makes of them to `path`, whole or not at all.
Status WriteReport(const WriterInfo& writer, const ReportOptions& options, const std::string& path,
                   const Arguments& arguments, Console& console);

}  // namespace memstrata::cli
