#include "query/answer_cache.h"

#include <gtest/gtest.h>

namespace memstrata {
namespace {

Answer Sized(size_t size) { return {Answer::Type::kFrame, std::string(size, 'x')}; }

TEST(AnswerCache, KeepsTheLastAskedWithinItsSize) {
  AnswerCache cache(100);
  for (const char* key : {"a", "b", "c", "d"}) cache.Keep(key, Sized(25));
  EXPECT_TRUE(cache.Find("a").has_value());  // now the newest
  cache.Keep("e", Sized(25));
  EXPECT_TRUE(cache.Find("a").has_value());
  EXPECT_FALSE(cache.Find("b").has_value());
  EXPECT_EQ(cache.Find("e")->body.size(), 25U);
}

TEST(AnswerCache, TooLargeAnAnswerIsNotKept) {
  AnswerCache cache(100);
  cache.Keep("small", Sized(10));
  cache.Keep("large", Sized(90));
  EXPECT_TRUE(cache.Find("small").has_value());
  EXPECT_FALSE(cache.Find("large").has_value());
}

}  // namespace
}  // namespace memstrata
