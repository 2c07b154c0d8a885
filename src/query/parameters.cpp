#include "query/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace memstrata {
namespace {

constexpr size_t kLongestQuery = 4096;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Result<std::string> PercentDecode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return Fail(ErrorCode::kInvalidArgument, "The address holds a broken percent escape.");
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

std::string PercentEncode(std::string_view text) {
  constexpr std::string_view kUnescaped = "-_.!~*'()";
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       kUnescaped.find(c) != std::string_view::npos;
    if (plain) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

Result<Parameters> Parameters::Parse(std::string_view query) {
  if (query.size() > kLongestQuery) return Fail(ErrorCode::kInvalidArgument, "The question is too long.");
  Parameters parameters;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    MEMSTRATA_ASSIGN_OR_RETURN(std::string name, PercentDecode(pair.substr(0, equals)));
    MEMSTRATA_ASSIGN_OR_RETURN(std::string value, PercentDecode(pair.substr(std::min(pair.size(), equals + 1))));
    if (!parameters.values_.try_emplace(std::move(name), std::move(value)).second)
      return Fail(ErrorCode::kInvalidArgument, "A parameter is given twice.");
  }
  return parameters;
}

Parameters& Parameters::Set(std::string_view name, std::string value) {
  values_[std::string(name)] = std::move(value);
  return *this;
}

std::string_view Parameters::Text(std::string_view name, std::string_view otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : std::string_view(found->second);
}

Result<uint64_t> Parameters::Number(std::string_view name, uint64_t largest, std::optional<uint64_t> otherwise) const {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    if (otherwise) return *otherwise;
    return Fail(ErrorCode::kInvalidArgument, fmt::format("The parameter {} is missing.", name));
  }
  uint64_t value = 0;
  const char* end = found->second.data() + found->second.size();
  const auto [at, problem] = std::from_chars(found->second.data(), end, value);
  if (problem != std::errc{} || at != end || value > largest)
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} is a whole number from 0 to {}.", name, largest));
  return value;
}

Result<size_t> Parameters::Choice(std::string_view name, std::span<const std::string_view> choices,
                                  std::string_view otherwise) const {
  const auto found = std::find(choices.begin(), choices.end(), Text(name, otherwise));
  if (found != choices.end()) return static_cast<size_t>(found - choices.begin());
  return Fail(ErrorCode::kInvalidArgument, fmt::format("{} is one of: {}.", name, fmt::join(choices, ", ")));
}

Status Parameters::CheckNames(std::span<const std::string_view> known) const {
  for (const auto& [name, value] : values_) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("This question has no parameter \"{}\"; it takes {}.", name,
                              known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
    }
  }
  return {};
}

std::string Parameters::ToQuery() const {
  std::string query;
  for (const auto& [name, value] : values_) {
    if (value.empty()) continue;
    query += fmt::format("{}{}={}", query.empty() ? "" : "&", name, PercentEncode(value));
  }
  return query;
}

}  // namespace memstrata
