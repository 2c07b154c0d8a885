#pragma once
// Shapes of HLO values: XLA's text form and the bytes that a shape needs without padding. Source: the published
// xla_data.proto (field numbers) and XLA's shape syntax.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/protowire/message.h"

namespace memstrata::xla {

/// The number of PrimitiveType for tuples.
inline constexpr int64_t kTupleType = 13;

struct HloTile {
  std::vector<int64_t> dimensions;
};

struct HloShape {
  int64_t element_type = 0;
  std::vector<int64_t> dimensions;
  std::vector<bool> is_dynamic;
  std::vector<HloShape> tuple;
  bool has_layout = false;
  std::vector<int64_t> minor_to_major;
  std::vector<HloTile> tiles;
  int64_t memory_space = 0;
  int64_t element_bits = 0;
  int64_t tail_alignment = 0;

  bool is_tuple() const;
};

/// Reads a ShapeProto; nested deeper than 64 tuples throws protozero::exception, as broken encoding does.
HloShape ReadHloShape(std::string_view bytes, int depth = 0);

/// "f32[200,16]{1,0:T(8,128)}", "(f32[], s32[4]{0})".
std::string ShapeText(const HloShape& shape);

/// The number of a type by its name in shapes ("f32"); nothing for names that are not known.
std::optional<int64_t> ElementTypeNumber(std::string_view name);

/// Elements times element size, tuples as XLA counts them: a tuple itself is its table of pointers.
uint64_t UnpaddedBytes(const HloShape& shape);

}  // namespace memstrata::xla
