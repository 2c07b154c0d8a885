#include <gtest/gtest.h>

#include "query/question.h"

namespace memstrata {
namespace {

Result<Answer> AskEmptySession(std::string_view name, std::string_view query) {
  SessionIndex session(Store(), "0", {});
  return Ask(session, name, *Parameters::Parse(query));
}

TEST(PlanQuestion, AnswersWithThePlanOfTheCommand) {
  const Result<Answer> answer = AskEmptySession("plan", "model=gpt2&batch=2&sequence=64&card=24GiB");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_NE(answer->body.find("\"schema\":\"memstrata.plan/1\""), std::string::npos);
  EXPECT_NE(answer->body.find("\"fits\":true"), std::string::npos);
  EXPECT_NE(answer->body.find("\"measured\":null"), std::string::npos);
}

TEST(PlanQuestion, MoreNeedsMore) {
  const Result<Answer> small = AskEmptySession("plan", "model=gpt2&batch=1&sequence=64&card=1GiB");
  const Result<Answer> large = AskEmptySession("plan", "model=gpt2&batch=64&sequence=1024&card=1GiB");
  ASSERT_TRUE(small && large);
  EXPECT_NE(small->body, large->body);
  EXPECT_NE(large->body.find("\"fits\":false"), std::string::npos);
}

TEST(PlanQuestion, OpensNoFileThatASocketNames) {
  const Result<Answer> answer = AskEmptySession("plan", "model=%2Fetc%2Fpasswd");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(answer.error().message.find("root"), std::string::npos);
}

TEST(PlanQuestion, SaysWhichInputIsWrong) {
  EXPECT_FALSE(AskEmptySession("plan", ""));
  const Result<Answer> answer = AskEmptySession("plan", "model=gpt2&batch=many");
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("batch"), std::string::npos);
  EXPECT_FALSE(AskEmptySession("plan", "model=gpt2&colour=blue"));
  EXPECT_FALSE(AskEmptySession("plan", "model=gpt2&card=abacus"));
}

TEST(PlanQuestion, NeedsAHeapToStandBeside) {
  const Result<Answer> answer = AskEmptySession("plan", "model=gpt2&beside=yes");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kNotFound);
}

TEST(PlanQuestion, OffersModelsCardsAndInputs) {
  const Result<Answer> answer = AskEmptySession("plan_choices", "");
  ASSERT_TRUE(answer);
  for (const char* offered : {"\"gpt2\"", "\"h100-80g\"", "\"name\":\"batch\",\"default\":\"1\""})
    EXPECT_NE(answer->body.find(offered), std::string::npos) << offered;
}

}  // namespace
}  // namespace memstrata
