#include "accept/compare_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "plan/request_file.h"

namespace memstrata::accept {
namespace {

constexpr size_t kMostFileBytes = size_t{256} << 20;

// Text taken apart into numbers and what stands between them.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : rest_(text) {}

  struct Token {
    std::string_view between;      // before the number
    std::optional<double> number;  // nothing at the end of the text
  };
  Token Next() {
    size_t begin = 0;
    while (begin < rest_.size()) {
      const bool may_begin = begin == 0 || !IsWordPart(rest_[begin - 1]);
      double value = 0;
      const size_t length = may_begin ? NumberAt(begin, value) : 0;
      if (length > 0) {
        const Token token{rest_.substr(0, begin), value};
        rest_.remove_prefix(begin + length);
        return token;
      }
      ++begin;
    }
    const Token token{rest_, std::nullopt};
    rest_ = {};
    return token;
  }

 private:
  static bool IsWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
  // The length of the number that begins there; 0: none does. "nan" and "inf" as whole words are numbers, so that an
  // output that became them does not look like text; what no double can hold is not a number either.
  size_t NumberAt(size_t begin, double& value) const {
    const char* first = rest_.data() + begin;
    const char* last = rest_.data() + rest_.size();
    const auto [end, problem] = std::from_chars(first, last, value);
    if (problem == std::errc::invalid_argument) return 0;
    if (problem != std::errc{}) value = NAN;
    const bool is_word = std::isfinite(value) == 0 && end != last && IsWordPart(*end);
    return is_word ? 0 : static_cast<size_t>(end - first);
  }

  std::string_view rest_;
};

OutputComparison CompareNumbers(std::string_view output, std::string_view reference, double tolerance) {
  Tokens ours(output);
  Tokens theirs(reference);
  size_t count = 0;
  double largest = 0;
  for (;; ++count) {
    const Tokens::Token a = ours.Next();
    const Tokens::Token b = theirs.Next();
    if (a.between != b.between || a.number.has_value() != b.number.has_value())
      return {false, fmt::format("The output has another form than the reference from number {} on.", count + 1)};
    if (!a.number) break;
    const double difference = std::abs(*a.number - *b.number) / std::max(1.0, std::abs(*b.number));
    if (!(difference <= tolerance)) {
      return {false, fmt::format("Number {} of the output is {:g}, the reference has {:g}; {:g} may differ.", count + 1,
                                 *a.number, *b.number, tolerance)};
    }
    largest = std::max(largest, difference);
  }
  if (count == 0) return {true, "The output is that of the reference; neither holds a number."};
  return {true, fmt::format(
                    "{} numbers of the output are those of the reference within {:g}; the largest difference is {:g}.",
                    count, tolerance, largest)};
}

}  // namespace

OutputComparison CompareTexts(std::string_view output, std::string_view reference, std::optional<double> tolerance) {
  if (tolerance) return CompareNumbers(output, reference, *tolerance);
  if (output == reference) return {true, "The output is that of the reference, byte for byte."};
  const auto [a, b] = std::mismatch(output.begin(), output.end(), reference.begin(), reference.end());
  return {false, fmt::format("The output differs from the reference from byte {} on.", a - output.begin())};
}

Result<OutputComparison> CompareOutput(const std::string& output, const std::string& reference,
                                       std::optional<double> tolerance) {
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string ours, plan::ReadSmallFile(output, kMostFileBytes));
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string theirs, plan::ReadSmallFile(reference, kMostFileBytes));
  return CompareTexts(ours, theirs, tolerance);
}

}  // namespace memstrata::accept
