#include "report/html/embedded_answers.h"

#include <gtest/gtest.h>

namespace memstrata {
namespace {

TEST(EmbeddedAnswers, HoldsNoTagOfItsTexts) {
  EmbeddedAnswers answers(1'000'000);
  answers.AddJson("session", {}, R"({"file":"</script><b>"})", Packing::kPlain);
  answers.AddJson("holders", Parameters().Set("search", std::string("</script>")), "{}", Packing::kPlain);
  answers.AddProblem("plan", {}, "<b> is no number.");
  const std::string text = answers.Finish({"<i>"});
  EXPECT_EQ(text.find('<'), std::string::npos);
  EXPECT_NE(text.find(R"({"file":"\u003c/script>\u003cb>"})"), std::string::npos);
}

TEST(EmbeddedAnswers, LeavesOutWhatPassesTheLimit) {
  EmbeddedAnswers answers(60);
  const Parameters first = Parameters().Set("seq", uint64_t{1});
  EXPECT_TRUE(answers.AddJson("cursor", first, R"({"live_bytes":1})", Packing::kPlain));
  EXPECT_FALSE(answers.AddJson("cursor", Parameters().Set("seq", uint64_t{2}), R"({"live_bytes":2})", Packing::kPlain));
  EXPECT_TRUE(answers.Has("cursor", first));
  EXPECT_TRUE(answers.AddJson("cursor", first, R"({"live_bytes":3})", Packing::kPlain)) << "it is there";
  EXPECT_EQ(answers.Finish({}),
            R"({"schema":"memstrata.embedded/1","reduced":[],"answers":{"cursor?seq=1":{"json":{"live_bytes":1}}}})");
}

}  // namespace
}  // namespace memstrata
