#include "dryrun/xla_compile.h"

#include <gtest/gtest.h>

namespace memstrata::dryrun {
namespace {

TEST(XlaCompile, DonatedOutputsCountOnce) {
  const Result<JaxCompilation> compilation = ParseCompilation(
      "jax\t0.10.2\ntarget\tcpu (this machine)\nargument_bytes\t100\noutput_bytes\t40\nalias_bytes\t30\n"
      "temp_bytes\t7\n");
  ASSERT_TRUE(compilation);
  EXPECT_EQ(compilation->TotalBytes(), 117u);
  EXPECT_EQ(compilation->target, "cpu (this machine)");
}

TEST(XlaCompile, AMissingFigureIsNotZero) {
  EXPECT_FALSE(ParseCompilation("argument_bytes\t100\noutput_bytes\t40\nalias_bytes\t30\n"));
  EXPECT_FALSE(ParseCompilation("argument_bytes\t1\noutput_bytes\t4\nalias_bytes\t5\ntemp_bytes\t\n"));
  EXPECT_FALSE(ParseCompilation("argument_bytes\t1\noutput_bytes\t4\nalias_bytes\t5\ntemp_bytes\t0\n"));
}

TEST(XlaCompile, FitsOnlyBesideWhatTheDriverTakes) {
  JaxAnswer answer;
  answer.compilation.argument_bytes = 60;
  answer.compilation.temp_bytes = 30;
  EXPECT_EQ(answer.Fits(), std::nullopt);
  answer.card = plan::Card{};
  answer.card->visible_bytes = 100;
  answer.card->context_bytes = 10;
  EXPECT_EQ(answer.MarginBytes(), 0);
  EXPECT_EQ(answer.Fits(), true);
  answer.card->context_bytes = 11;
  EXPECT_EQ(answer.MarginBytes(), -1);
  EXPECT_EQ(answer.Fits(), false);
}

}  // namespace
}  // namespace memstrata::dryrun
