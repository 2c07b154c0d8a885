#include "base/duration.h"

#include <gtest/gtest.h>

namespace memstrata {
namespace {

TEST(Duration, EachUnitAndNothingElse) {
  EXPECT_EQ(ParseDuration("1.5s"), 1.5e9);
  EXPECT_EQ(ParseDuration("250ms"), 250e6);
  EXPECT_EQ(ParseDuration("3us"), 3e3);
  EXPECT_EQ(ParseDuration("20ns"), 20);
  for (const char* text : {"", "s", "1.5", "1.5 s", "1m", "peak"}) EXPECT_EQ(ParseDuration(text), std::nullopt) << text;
}

}  // namespace
}  // namespace memstrata
