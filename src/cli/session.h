#pragma once
// Reads files into a session that can be asked (query/session_index.h), for the verbs that show one.

#include <functional>
#include <memory>

#include "cli/subcommand.h"
#include "query/session_index.h"

namespace memstrata::cli {

/// Takes --format and --redact from the arguments. `progress` may be empty.
Result<std::shared_ptr<SessionIndex>> LoadSession(const std::vector<std::string>& files, const Arguments& arguments,
                                                  const std::function<void(std::string_view)>& progress);

}  // namespace memstrata::cli
