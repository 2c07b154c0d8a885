#include "oom/text/pattern.h"

#include <algorithm>

namespace memstrata::oom {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

struct Unit {
  std::string_view name;
  int shift;
};

// Longer names first: "MiB" before "M".
constexpr Unit kUnits[] = {
    {"bytes", 0}, {"Bytes", 0}, {"byte", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}, {"KB", 10}, {"kB", 10},
    {"MB", 20},   {"GB", 30},   {"TB", 40},  {"EB", 60},  {"K", 10},   {"M", 20},   {"G", 30},   {"T", 40},  {"B", 0},
};

// Digits of a printed number: 1,234.50 is {123450, 2 decimals}. Twenty digits at most, or it is no number of ours.
struct Digits {
  Wide value = 0;
  int decimal_count = 0;
  bool is_negative = false;
  size_t end = 0;
};

std::optional<Digits> ReadDigits(std::string_view text, size_t at, bool decimals) {
  Digits digits;
  if (at < text.size() && text[at] == '-') {
    digits.is_negative = true;
    ++at;
  }
  if (at >= text.size() || !IsDigit(text[at])) return std::nullopt;
  int count = 0;
  bool in_decimals = false;
  for (; at < text.size(); ++at) {
    const bool digit_follows = at + 1 < text.size() && IsDigit(text[at + 1]);
    if (IsDigit(text[at])) {
      if (++count > 20) return std::nullopt;
      digits.value = digits.value * 10 + static_cast<unsigned>(text[at] - '0');
      if (in_decimals) ++digits.decimal_count;
    } else if (text[at] == '.' && decimals && !in_decimals && digit_follows) {
      in_decimals = true;
    } else if (text[at] != ',' || in_decimals || !digit_follows || text.size() < at + 4 || !IsDigit(text[at + 2]) ||
               !IsDigit(text[at + 3])) {
      break;
    }
  }
  digits.end = at;
  return digits;
}

Wide PowerOfTen(int exponent) {
  Wide power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

// Rounds half up; what does not fit becomes the largest number.
uint64_t ToBytes(Wide value, int shift, Wide divisor) {
  constexpr Wide kMost = ~uint64_t{0};
  if (value / divisor > (kMost >> shift)) return ~uint64_t{0};
  return static_cast<uint64_t>(((value << shift) + divisor / 2) / divisor);
}

std::optional<size_t> ReadNumber(std::string_view text, size_t at, int shift, bool decimals, Value& value) {
  const std::optional<Digits> digits = ReadDigits(text, at, decimals);
  if (!digits) return std::nullopt;
  const Wide divisor = PowerOfTen(digits->decimal_count);
  value.number = static_cast<double>(digits->value) / static_cast<double>(divisor) * (digits->is_negative ? -1 : 1);
  value.is_negative = digits->is_negative;
  value.bytes = ToBytes(digits->value, shift, divisor);
  value.tolerance_bytes = shift == 0 ? 0 : ToBytes(1, shift, divisor * 2);
  return digits->end;
}

std::optional<size_t> ReadSize(std::string_view text, size_t at, Value& value) {
  const std::optional<Digits> digits = ReadDigits(text, at, true);
  if (!digits) return std::nullopt;
  size_t unit_at = digits->end;
  if (unit_at < text.size() && text[unit_at] == ' ') ++unit_at;
  for (const Unit& unit : kUnits) {
    if (text.substr(unit_at, unit.name.size()) != unit.name) continue;
    const size_t end = unit_at + unit.name.size();
    if (end < text.size() && IsLetter(text[end])) continue;
    (void)ReadNumber(text, at, unit.shift, true, value);
    return end;
  }
  return std::nullopt;
}

std::optional<size_t> ReadWord(std::string_view text, size_t at, Value& value) {
  const size_t end = std::min(text.find_first_of(" ,;)]\"'", at), text.size());
  if (end == at) return std::nullopt;
  value.text = text.substr(at, end - at);
  return end;
}

std::optional<size_t> ReadValue(std::string_view text, size_t at, std::string_view place, Value& value) {
  if (place == "size") return ReadSize(text, at, value);
  if (place == "word") return ReadWord(text, at, value);
  return ReadNumber(text, at, 0, place == "decimal", value);
}

struct Element {
  std::string_view literal;  // or
  std::string_view place;
};

// The next element of a pattern; moves `rest` past it.
Element NextElement(std::string_view& rest) {
  const size_t open = rest.find('<');
  if (open != 0) {
    const std::string_view literal = rest.substr(0, open);
    rest.remove_prefix(literal.size());
    return {literal, {}};
  }
  const size_t close = rest.find('>');
  const std::string_view place = rest.substr(1, close - 1);
  rest.remove_prefix(close + 1);
  return {{}, place};
}

}  // namespace

std::optional<PatternMatch> MatchPattern(std::string_view text, std::string_view pattern, size_t at) {
  PatternMatch match;
  match.begin = at;
  bool may_skip = false;
  while (!pattern.empty()) {
    const Element element = NextElement(pattern);
    if (element.place == "skip") {
      may_skip = true;
      continue;
    }
    if (!element.literal.empty()) {
      const size_t found = may_skip ? text.substr(at, kMostSkipped + element.literal.size()).find(element.literal)
                           : text.substr(at).starts_with(element.literal) ? 0
                                                                          : std::string_view::npos;
      if (found == std::string_view::npos) return std::nullopt;
      at += found + element.literal.size();
    } else {
      if (match.value_count == kMostValues) return std::nullopt;
      Value& value = match.values[match.value_count++];
      std::optional<size_t> end = ReadValue(text, at, element.place, value);
      for (size_t skipped = 0; !end && may_skip && skipped < kMostSkipped && at < text.size(); ++skipped)
        end = ReadValue(text, ++at, element.place, value);
      if (!end) return std::nullopt;
      at = *end;
    }
    may_skip = false;
  }
  match.end = at;
  return match;
}

std::optional<PatternMatch> FindPattern(std::string_view text, std::string_view pattern, size_t from) {
  if (pattern.empty()) return std::nullopt;
  std::string_view rest = pattern;
  const Element first = NextElement(rest);
  while (from < text.size()) {
    size_t at = from;
    if (!first.literal.empty()) {
      at = text.find(first.literal, from);
    } else {  // a value: begins where a number or word begins
      while (at < text.size() && (first.place == "word" ? text[at] == ' ' : !IsDigit(text[at]) && text[at] != '-'))
        ++at;
    }
    if (at >= text.size()) return std::nullopt;
    if (std::optional<PatternMatch> match = MatchPattern(text, pattern, at)) return match;
    // Past the whole token: the tail of a number is not a number.
    from = at + 1;
    while (first.literal.empty() && from < text.size() &&
           (IsDigit(text[from]) || text[from] == '.' || text[from] == ','))
      ++from;
  }
  return std::nullopt;
}

}  // namespace memstrata::oom
