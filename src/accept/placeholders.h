#pragma once
// "{NAME}" in commands, variables and file names: a parameter's value stands there when the workload runs.
//
// "{{NAME}}" is the text "{NAME}". Braces round anything but a name stay as they are, as in JSON.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace memstrata::accept {

using Command = std::vector<std::string>;

/// `text` with each {NAME} of a parameter replaced.
std::string Fill(std::string_view text, const std::map<std::string, std::string>& parameters);
Command Fill(Command command, const std::map<std::string, std::string>& parameters);

/// Whether a parameter may be called so.
bool IsPlaceholderName(std::string_view name);

/// The first {NAME} in `text` that `is_known` does not know; empty: there is none.
std::string UnknownPlaceholder(std::string_view text, const std::function<bool(const std::string&)>& is_known);

/// `text` such that Fill() gives it back, whatever the parameters.
std::string EscapePlaceholders(std::string_view text);

}  // namespace memstrata::accept
