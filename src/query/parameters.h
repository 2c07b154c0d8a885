#pragma once
// The parameters of a question: names and values of a query string, decoded and checked.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace memstrata {

class Parameters {
 public:
  /// Decodes "a=1&b=x%20y". errors: kInvalidArgument for a broken escape, a name twice, or too long a text
  static Result<Parameters> Parse(std::string_view query);

  /// For questions that are put together in the program.
  Parameters& Set(std::string_view name, std::string value);
  Parameters& Set(std::string_view name, uint64_t value) { return Set(name, std::to_string(value)); }

  bool Has(std::string_view name) const { return values_.contains(name); }
  std::string_view Text(std::string_view name, std::string_view otherwise = "") const;
  /// errors: kInvalidArgument when missing without `otherwise`, no whole number, or above `largest`
  Result<uint64_t> Number(std::string_view name, uint64_t largest, std::optional<uint64_t> otherwise = {}) const;
  /// Index into `choices`. errors: kInvalidArgument names the choices
  Result<size_t> Choice(std::string_view name, std::span<const std::string_view> choices,
                        std::string_view otherwise) const;

  /// kInvalidArgument when a parameter has none of these names.
  Status CheckNames(std::span<const std::string_view> known) const;
  /// Sorted by name, percent-encoded as encodeURIComponent does: the key of caches and report files.
  std::string ToQuery() const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

/// Decodes %XX. errors: kInvalidArgument
Result<std::string> PercentDecode(std::string_view text);
/// As JavaScript's encodeURIComponent.
std::string PercentEncode(std::string_view text);

}  // namespace memstrata
