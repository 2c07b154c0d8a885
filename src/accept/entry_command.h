#pragma once
// The command that calls a Python function over and over, and what such a command calls.

#include <map>
#include <optional>
#include <string>

#include "accept/spec.h"

namespace memstrata::accept {

/// What is called: `function` as "module:name", with the parameters.
struct EntryCall {
  std::string python;
  std::string function;
  std::map<std::string, std::string> parameters;
  uint64_t warmup_count = 0;
  uint64_t iteration_count = 1;
  std::string log;  // where each call writes a line; empty: it is called once, and its value printed
};

Command EntryCommand(const EntryCall& call);

/// The other way round; nothing for another command.
std::optional<EntryCall> ParseEntryCommand(const Command& command);

}  // namespace memstrata::accept
