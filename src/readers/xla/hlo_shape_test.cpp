#include "readers/xla/hlo_shape.h"

#include <gtest/gtest.h>

namespace memstrata::xla {
namespace {

HloShape Array(int64_t type, std::vector<int64_t> dimensions, std::vector<int64_t> minor_to_major) {
  HloShape shape;
  shape.element_type = type;
  shape.dimensions = std::move(dimensions);
  shape.has_layout = true;
  shape.minor_to_major = std::move(minor_to_major);
  return shape;
}

constexpr int64_t kF32 = 11;
constexpr int64_t kBf16 = 16;
constexpr int64_t kTuple = 13;

TEST(HloShapeTest, WritesLayoutsTilesAndSpaces) {
  HloShape shape = Array(kBf16, {5, 1024}, {1, 0});
  EXPECT_EQ(ShapeText(shape), "bf16[5,1024]{1,0}");
  shape.tiles = {{{8, 128}}, {{2, 1}}};
  shape.memory_space = 5;
  EXPECT_EQ(ShapeText(shape), "bf16[5,1024]{1,0:T(8,128)(2,1)S(5)}");
  EXPECT_EQ(UnpaddedBytes(shape), 5u * 1024 * 2);
}

TEST(HloShapeTest, WritesScalarsWithoutBraces) {
  HloShape scalar = Array(kF32, {}, {});
  EXPECT_EQ(ShapeText(scalar), "f32[]");
  scalar.tiles = {{{128}}};
  EXPECT_EQ(ShapeText(scalar), "f32[]{:T(128)}");
  EXPECT_EQ(UnpaddedBytes(scalar), 4u);
}

TEST(HloShapeTest, NumbersThePartsOfLongTuples) {
  HloShape tuple;
  tuple.element_type = kTuple;
  tuple.tuple.assign(6, Array(kF32, {2}, {0}));
  EXPECT_EQ(ShapeText(tuple), "(f32[2]{0}, f32[2]{0}, f32[2]{0}, f32[2]{0}, f32[2]{0}, /*index=5*/f32[2]{0})");
  EXPECT_EQ(UnpaddedBytes(tuple), 48u);
}

TEST(HloShapeTest, ImpossibleSizesDoNotOverflow) {
  EXPECT_EQ(UnpaddedBytes(Array(kF32, {INT64_MAX, INT64_MAX}, {1, 0})), uint64_t{1} << 62);
  EXPECT_EQ(UnpaddedBytes(Array(kF32, {-3}, {0})), 0u);
}

}  // namespace
}  // namespace memstrata::xla
