#include "readers/xla/hlo_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace memstrata::xla {
namespace {

using protozero::tag_and_type;

constexpr int kDeepestTuple = 64;
constexpr int64_t kCombineDimension = INT64_MIN;  // written "*" in a tile
constexpr size_t kIndexCommentEvery = 5;          // XLA numbers the parts of long tuples
constexpr uint64_t kPointerBytes = 8;
constexpr uint64_t kLargestBytes = uint64_t{1} << 62;

struct ElementType {
  std::string_view name;
  uint32_t size_bytes;
};

// By number of PrimitiveType in xla_data.proto; types below a byte take one each without a layout that packs them.
constexpr ElementType kElementTypes[] = {
    {"invalid", 0},    {"pred", 1},       {"s8", 1},       {"s16", 2},       {"s32", 4},    {"s64", 8},
    {"u8", 1},         {"u16", 2},        {"u32", 4},      {"u64", 8},       {"f16", 2},    {"f32", 4},
    {"f64", 8},        {"tuple", 0},      {"opaque", 0},   {"c64", 8},       {"bf16", 2},   {"token", 0},
    {"c128", 16},      {"f8e5m2", 1},     {"f8e4m3fn", 1}, {"s4", 1},        {"u4", 1},     {"f8e4m3b11fnuz", 1},
    {"f8e5m2fnuz", 1}, {"f8e4m3fnuz", 1}, {"s2", 1},       {"u2", 1},        {"f8e4m3", 1}, {"f8e3m4", 1},
    {"s1", 1},         {"u1", 1},         {"f4e2m1fn", 1}, {"f8e8m0fnu", 1},
};

ElementType TypeOf(int64_t type) {
  constexpr auto kCount = static_cast<int64_t>(sizeof kElementTypes / sizeof kElementTypes[0]);
  return type >= 0 && type < kCount ? kElementTypes[type] : kElementTypes[0];
}

// A repeated int64 field, packed or not.
void ReadNumbers(WireMessage& message, std::vector<int64_t>& into) {
  if (message.wire_type() == WireType::varint) {
    into.push_back(message.get_int64());
    return;
  }
  for (const int64_t value : message.get_packed_int64()) into.push_back(value);
}

void ReadLayout(std::string_view bytes, HloShape& shape) {
  WireMessage message(bytes);
  while (message.next()) {
    if (message.tag() == 1 &&
        (message.wire_type() == WireType::varint || message.wire_type() == WireType::length_delimited)) {
      ReadNumbers(message, shape.minor_to_major);
      continue;
    }
    switch (message.tag_and_type()) {
      case tag_and_type(6, WireType::length_delimited): {
        HloTile& tile = shape.tiles.emplace_back();
        WireMessage inner(message.get_view());
        while (inner.next()) {
          if (inner.tag() == 1 &&
              (inner.wire_type() == WireType::varint || inner.wire_type() == WireType::length_delimited)) {
            ReadNumbers(inner, tile.dimensions);
          } else {
            inner.skip();
          }
        }
        break;
      }
      case tag_and_type(7, WireType::varint):
        shape.element_bits = message.get_int64();
        break;
      case tag_and_type(8, WireType::varint):
        shape.memory_space = message.get_int64();
        break;
      case tag_and_type(16, WireType::varint):
        shape.tail_alignment = message.get_int64();
        break;
      default:
        message.skip();
    }
  }
}

std::string LayoutText(const HloShape& shape) {
  std::string text = fmt::format("{}", fmt::join(shape.minor_to_major, ","));
  std::string after;
  for (const HloTile& tile : shape.tiles) {
    std::string inner;
    for (const int64_t size : tile.dimensions) {
      if (!inner.empty()) inner += ",";
      inner += size == kCombineDimension ? "*" : fmt::format("{}", size);
    }
    after += fmt::format("{}({})", after.empty() ? "T" : "", inner);
  }
  if (shape.tail_alignment > 1) after += fmt::format("L({})", shape.tail_alignment);
  if (shape.element_bits != 0) after += fmt::format("E({})", shape.element_bits);
  if (shape.memory_space != 0) after += fmt::format("S({})", shape.memory_space);
  if (!after.empty()) text += ":" + after;
  return text;
}

}  // namespace

bool HloShape::is_tuple() const { return element_type == kTupleType; }

HloShape ReadHloShape(std::string_view bytes, int depth) {
  if (depth > kDeepestTuple) throw protozero::exception();
  HloShape shape;
  WireMessage message(bytes);
  while (message.next()) {
    if (message.tag() == 3 &&
        (message.wire_type() == WireType::varint || message.wire_type() == WireType::length_delimited)) {
      ReadNumbers(message, shape.dimensions);
      continue;
    }
    switch (message.tag_and_type()) {
      case tag_and_type(2, WireType::varint):
        shape.element_type = message.get_int64();
        break;
      case tag_and_type(4, WireType::length_delimited):
        shape.tuple.push_back(ReadHloShape(message.get_view(), depth + 1));
        break;
      case tag_and_type(5, WireType::length_delimited):
        shape.has_layout = true;
        ReadLayout(message.get_view(), shape);
        break;
      case tag_and_type(6, WireType::length_delimited):
        for (const bool value : message.get_packed_bool()) shape.is_dynamic.push_back(value);
        break;
      default:
        message.skip();
    }
  }
  return shape;
}

std::string ShapeText(const HloShape& shape) {
  if (shape.is_tuple()) {
    std::string parts;
    for (size_t i = 0; i < shape.tuple.size(); ++i) {
      if (i > 0) parts += i % kIndexCommentEvery == 0 ? fmt::format(", /*index={}*/", i) : ", ";
      parts += ShapeText(shape.tuple[i]);
    }
    return "(" + parts + ")";
  }
  std::string dimensions;
  for (size_t i = 0; i < shape.dimensions.size(); ++i) {
    const bool is_dynamic = i < shape.is_dynamic.size() && shape.is_dynamic[i];
    dimensions += fmt::format("{}{}{}", i == 0 ? "" : ",", is_dynamic ? "<=" : "", shape.dimensions[i]);
  }
  std::string text = fmt::format("{}[{}]", TypeOf(shape.element_type).name, dimensions);
  const std::string layout = shape.has_layout ? LayoutText(shape) : "";
  if (!layout.empty()) text += "{" + layout + "}";
  return text;
}

std::optional<int64_t> ElementTypeNumber(std::string_view name) {
  int64_t number = 0;
  for (const ElementType& type : kElementTypes) {
    if (type.name == name) return number;
    ++number;
  }
  return std::nullopt;
}

uint64_t UnpaddedBytes(const HloShape& shape) {
  if (shape.is_tuple()) return kPointerBytes * shape.tuple.size();
  uint64_t bytes = TypeOf(shape.element_type).size_bytes;
  for (const int64_t dimension : shape.dimensions) {
    if (dimension <= 0) return 0;
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dimension), &bytes) || bytes > kLargestBytes)
      return kLargestBytes;
  }
  return bytes;
}

}  // namespace memstrata::xla
