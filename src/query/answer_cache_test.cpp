#include "query/answer_cache.h"

#include <gtest/gtest.h>

namespace memstrata {
namespace {

KeptAnswer Sized(size_t size) { return {{Answer::Type::kFrame, std::string(size, 'x')}, "tag"}; }

TEST(AnswerCache, KeepsTheLastAskedWithinItsSize) {
  AnswerCache cache(100);
  for (const char* key : {"a", "b", "c", "d"}) cache.Keep(key, Sized(25));
  EXPECT_NE(cache.Find("a"), nullptr);  // now the newest
  cache.Keep("e", Sized(25));
  EXPECT_NE(cache.Find("a"), nullptr);
  EXPECT_EQ(cache.Find("b"), nullptr);
  EXPECT_EQ(cache.Find("e")->answer.body.size(), 25U);
}

TEST(AnswerCache, GivesTheSameBytesAgain) {
  AnswerCache cache(100);
  const std::shared_ptr<const KeptAnswer> kept = cache.Keep("a", Sized(25));
  EXPECT_EQ(cache.Find("a"), kept);  // the object, not a copy
  for (const char* key : {"b", "c", "d", "e"}) cache.Keep(key, Sized(25));
  ASSERT_EQ(cache.Find("a"), nullptr);
  EXPECT_EQ(kept->answer.body.size(), 25U);  // still whole for who is sending it
}

TEST(AnswerCache, TooLargeAnAnswerIsNotKept) {
  AnswerCache cache(100);
  cache.Keep("small", Sized(10));
  EXPECT_EQ(cache.Keep("large", Sized(90))->answer.body.size(), 90U);
  EXPECT_NE(cache.Find("small"), nullptr);
  EXPECT_EQ(cache.Find("large"), nullptr);
}

}  // namespace
}  // namespace memstrata
