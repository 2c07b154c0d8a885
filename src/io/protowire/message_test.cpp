#include "io/protowire/message.h"

#include <gtest/gtest.h>

#include <string>

namespace memstrata {
namespace {

using namespace std::string_view_literals;

TEST(FieldWalkTest, ReadsEveryWireType) {
  // 1: varint 300, 2: "ab", 3: fixed32 1, 4: fixed64 2.
  const std::string_view bytes =
      "\x08\xAC\x02\x12\x02"
      "ab\x1D\x01\x00\x00\x00\x21\x02\x00\x00\x00\x00\x00\x00\x00"sv;
  FieldWalk walk(bytes);
  ASSERT_TRUE(walk.Next());
  EXPECT_EQ(walk.field(), 1u);
  EXPECT_EQ(walk.number(), 300u);
  ASSERT_TRUE(walk.Next());
  EXPECT_EQ(walk.payload(), "ab");
  ASSERT_TRUE(walk.Next());
  EXPECT_EQ(walk.number(), 1u);
  ASSERT_TRUE(walk.Next());
  EXPECT_EQ(walk.number(), 2u);
  EXPECT_FALSE(walk.Next());
  EXPECT_FALSE(walk.cut_off());
  EXPECT_FALSE(walk.damaged());
}

TEST(FieldWalkTest, GivesThePartOfAFieldThatWasCutOff) {
  FieldWalk walk(
      "\x0A\x05"
      "abc"sv);
  ASSERT_TRUE(walk.Next());
  EXPECT_EQ(walk.payload(), "abc");
  EXPECT_TRUE(walk.cut_off());
  EXPECT_FALSE(walk.Next());
}

TEST(FieldWalkTest, StopsAtWhatCannotBeAField) {
  for (const std::string_view bytes : {"\x00\x01"sv, "\x0B"sv, "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"sv}) {
    FieldWalk walk(bytes);
    EXPECT_FALSE(walk.Next());
    EXPECT_TRUE(walk.damaged());
  }
  FieldWalk cut("\x08\x80"sv);
  EXPECT_FALSE(cut.Next());
  EXPECT_TRUE(cut.cut_off());
}

TEST(GuardMessageTest, TurnsBrokenEncodingIntoAnErrorWithItsPlace) {
  const Status status = GuardMessage(42, [] {
    WireMessage message(
        "\x0A\x7F"
        "a"sv);
    while (message.next()) message.skip();
  });
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kCorruptInput);
  EXPECT_EQ(status.error().offset_bytes, 42u);
}

}  // namespace
}  // namespace memstrata
