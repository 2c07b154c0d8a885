#include "report/text/text_style.h"

#include <gtest/gtest.h>

namespace memstrata {
namespace {

TEST(TextStyle, WidthCountsCharacters) {
  EXPECT_EQ(DisplayWidth("abc"), 3u);
  EXPECT_EQ(DisplayWidth("a→b…"), 4u);
  EXPECT_EQ(PadLeft("→", 3), "  →");
  EXPECT_EQ(PadRight("→", 3), "→  ");
}

TEST(TextStyle, ShortenKeepsBothEnds) {
  EXPECT_EQ(Shorten("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(Shorten("abcdefghij", 7), "abc…hij");
  EXPECT_EQ(DisplayWidth(Shorten("ä→ö…üßabcdef", 6)), 6u);
}

TEST(TextStyle, AFileCannotMoveTheCursor) { EXPECT_EQ(Shorten("a\x1b[2Jb\n", 20), "a?[2Jb?"); }

TEST(TextStyle, WrapBreaksAtSpaces) { EXPECT_EQ(WrapLines("one two three", 8, 2), "one two\n  three"); }

}  // namespace
}  // namespace memstrata
