#include "readers/xla/shape_text.h"

#include <gtest/gtest.h>

namespace memstrata::xla {
namespace {

uint64_t BytesOf(std::string_view text) {
  const std::optional<HloShape> shape = TakeShape(text);
  EXPECT_TRUE(shape) << text;
  EXPECT_EQ(text, "");
  return shape ? UnpaddedBytes(*shape) : 0;
}

TEST(ShapeTextTest, ReadsWhatShapeTextWrites) {
  EXPECT_EQ(BytesOf("f32[]"), 4u);
  EXPECT_EQ(BytesOf("pred[7]"), 7u);
  EXPECT_EQ(BytesOf("bf16[5,1024]{1,0:T(8,128)(2,1)S(5)}"), 5u * 1024 * 2);
  EXPECT_EQ(BytesOf("s32[<=8,2]{1,0}"), 64u);
  EXPECT_EQ(BytesOf("(f32[], s32[4]{0})"), 16u);
  EXPECT_EQ(BytesOf("(s32[], s32[], s32[], s32[], s32[], /*index=5*/f32[2])"), 48u);
  EXPECT_EQ(BytesOf("((f32[2], f32[3]), f32[4])"), 16u);
}

TEST(ShapeTextTest, RoundTripsThroughTheProtoForm) {
  for (const std::string_view written : {"f32[200,16]", "(f32[], (u8[3], c64[1,2,3]), token[])", "f8e4m3fn[0]", "()"}) {
    std::string_view text = written;
    const std::optional<HloShape> shape = TakeShape(text);
    ASSERT_TRUE(shape) << written;
    EXPECT_EQ(ShapeText(*shape), written);
  }
}

TEST(ShapeTextTest, StopsBehindTheShape) {
  std::string_view text = "f32[8,32], 2×f32[8]";
  ASSERT_TRUE(TakeShape(text));
  EXPECT_EQ(text, ", 2×f32[8]");
}

TEST(ShapeTextTest, RefusesEverythingElse) {
  for (std::string_view text : {"", "f32", "f32[", "f32[8", "f32[-1]", "f32[8,]x", "q17[3]",
                                "f32[99999999999999999999]", "(f32[]", "f32[8]{1"}) {
    EXPECT_FALSE(TakeShape(text)) << text;
  }
  const std::string deep(100, '(');
  std::string_view text = deep;
  EXPECT_FALSE(TakeShape(text));
}

}  // namespace
}  // namespace memstrata::xla
