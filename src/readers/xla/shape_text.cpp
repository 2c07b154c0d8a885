#include "readers/xla/shape_text.h"

#include <charconv>

namespace memstrata::xla {
namespace {

constexpr int kDeepestTuple = 64;

bool Skip(std::string_view& text, std::string_view token) {
  if (!text.starts_with(token)) return false;
  text.remove_prefix(token.size());
  return true;
}

bool IsTypeLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

// "{1,0:T(8,128)}", and "/*index=5*/" between the parts of a long tuple.
bool SkipTo(std::string_view& text, std::string_view end) {
  const size_t at = text.find(end);
  if (at == std::string_view::npos) return false;
  text.remove_prefix(at + end.size());
  return true;
}

std::optional<HloShape> TakeArray(std::string_view& text) {
  size_t length = 0;
  while (length < text.size() && IsTypeLetter(text[length])) ++length;
  HloShape shape;
  const std::optional<int64_t> type = ElementTypeNumber(text.substr(0, length));
  if (!type) return std::nullopt;
  shape.element_type = *type;
  text.remove_prefix(length);
  if (!Skip(text, "[")) return std::nullopt;
  while (!Skip(text, "]")) {
    if (!shape.dimensions.empty() && !Skip(text, ",")) return std::nullopt;
    shape.is_dynamic.push_back(Skip(text, "<="));
    int64_t size = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (problem != std::errc{} || size < 0) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    shape.dimensions.push_back(size);
  }
  if (text.starts_with("{") && !SkipTo(text, "}")) return std::nullopt;
  return shape;
}

std::optional<HloShape> TakeAny(std::string_view& text, int depth) {
  if (!Skip(text, "(")) return TakeArray(text);
  if (depth > kDeepestTuple) return std::nullopt;
  HloShape tuple;
  tuple.element_type = kTupleType;
  while (!Skip(text, ")")) {
    if (!tuple.tuple.empty() && !Skip(text, ", ") && !Skip(text, ",")) return std::nullopt;
    if (text.starts_with("/*") && !SkipTo(text, "*/")) return std::nullopt;
    std::optional<HloShape> part = TakeAny(text, depth + 1);
    if (!part) return std::nullopt;
    tuple.tuple.push_back(*std::move(part));
  }
  return tuple;
}

}  // namespace

std::optional<HloShape> TakeShape(std::string_view& text) { return TakeAny(text, 0); }

}  // namespace memstrata::xla
