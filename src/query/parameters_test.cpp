#include "query/parameters.h"

#include <gtest/gtest.h>

namespace memstrata {
namespace {

TEST(Parameters, DecodesAndSorts) {
  const Result<Parameters> parameters = Parameters::Parse("seq=5&heap=0&q=a%20b%26c&empty=");
  ASSERT_TRUE(parameters.has_value());
  EXPECT_EQ(parameters->Text("q"), "a b&c");
  EXPECT_EQ(parameters->Number("seq", 10).value(), 5U);
  EXPECT_EQ(parameters->ToQuery(), "heap=0&q=a%20b%26c&seq=5");
}

TEST(Parameters, RefusesWhatIsBroken) {
  for (const std::string_view query : {"a=%", "a=%2", "a=%zz", "a=1&a=2", "%=1"})
    EXPECT_FALSE(Parameters::Parse(query).has_value()) << query;
  EXPECT_FALSE(Parameters::Parse(std::string(5000, 'a')).has_value());
}

TEST(Parameters, NumbersAreWholeAndBounded) {
  for (const std::string_view value : {"", "-1", "1.5", "1e3", " 1", "11", "18446744073709551616"}) {
    EXPECT_FALSE(Parameters().Set("n", std::string(value)).Number("n", 10).has_value()) << value;
  }
  EXPECT_FALSE(Parameters().Number("n", 10).has_value());
  EXPECT_EQ(Parameters().Number("n", 10, 4).value(), 4U);
}

TEST(Parameters, KnowsTheNames) {
  constexpr std::string_view kNames[] = {"heap"};
  EXPECT_TRUE(Parameters().Set("heap", "0").CheckNames(kNames).has_value());
  EXPECT_FALSE(Parameters().Set("heap", "0").Set("hepa", "0").CheckNames(kNames).has_value());
}

TEST(PercentEncode, IsWhatBrowsersDo) {
  EXPECT_EQ(PercentEncode("aZ09-_.!~*'() /<>&=é"), "aZ09-_.!~*'()%20%2F%3C%3E%26%3D%C3%A9");
  EXPECT_EQ(PercentDecode(PercentEncode("\x01\xFF%")).value(), "\x01\xFF%");
}

}  // namespace
}  // namespace memstrata
