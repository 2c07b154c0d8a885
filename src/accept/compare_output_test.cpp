#include "accept/compare_output.h"

#include <gtest/gtest.h>

namespace memstrata::accept {
namespace {

bool Same(std::string_view output, std::string_view reference, std::optional<double> tolerance) {
  return CompareTexts(output, reference, tolerance).is_equal;
}

TEST(CompareOutput, ExactlyMeansEveryByte) {
  EXPECT_TRUE(Same("a 1.0\n", "a 1.0\n", {}));
  EXPECT_FALSE(Same("a 1.0\n", "a 1.00\n", {}));
  EXPECT_NE(CompareTexts("abcd", "abxd", {}).text.find("byte 2"), std::string::npos);
}

TEST(CompareOutput, NumbersWithinATolerance) {
  EXPECT_TRUE(Same("[1.0, 2.001]", "[1, 2]", 1e-3));
  EXPECT_FALSE(Same("[1.0, 2.01]", "[1, 2]", 1e-3));
  EXPECT_TRUE(Same("1000.5", "1000", 1e-3));  // relative above one
  EXPECT_TRUE(Same("0.0005", "0", 1e-3));     // absolute below
  EXPECT_FALSE(Same("-1", "1", 0.5));
}

TEST(CompareOutput, WhatIsBetweenTheNumbersMustBeEqual) {
  EXPECT_FALSE(Same("loss 1.0", "lost 1.0", 1));
  EXPECT_FALSE(Same("1 2", "1 2 3", 1));
  EXPECT_FALSE(Same("", "1", 1));
  EXPECT_TRUE(Same("layer1.weight 3", "layer1.weight 3.0", 0));
  EXPECT_TRUE(Same("info: nano inference 3", "info: nano inference 3.0", 0));
}

TEST(CompareOutput, NotANumberEqualsNothing) {
  EXPECT_FALSE(Same("nan", "nan", 1));
  EXPECT_FALSE(Same("nan", "1", 1e9));
  EXPECT_FALSE(Same("inf", "1", 1e9));
  EXPECT_FALSE(Same("1e999", "1", 1e9));
}

}  // namespace
}  // namespace memstrata::accept
