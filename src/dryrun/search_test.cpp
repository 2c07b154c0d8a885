#include "dryrun/search.h"

#include <gtest/gtest.h>

#include <set>

namespace memstrata::dryrun {
namespace {

DryRun Fitting() {
  DryRun run;
  run.processes.push_back({.devices = {{.index = 0}}});
  return run;
}
DryRun NotFitting() {
  DryRun run = Fitting();
  run.processes[0].devices[0].ooms.push_back({});
  run.exit_status = 1;
  return run;
}

TEST(Verdict, AnErrorIsHandledWhenTheProgramWentOnAndEndedWell) {
  DryRun run = NotFitting();
  run.processes[0].allocations_after_oom = 3;
  EXPECT_EQ(run.verdict(), Verdict::kDoesNotFit);
  run.exit_status = 0;
  EXPECT_EQ(run.verdict(), Verdict::kRanAfterErrors);
  EXPECT_EQ(run.OutOfMemoryCount(), 1u);
  run.processes[0].allocations_after_oom = 0;
  EXPECT_EQ(run.verdict(), Verdict::kDoesNotFit);
}

TEST(Verdict, AnErrorThatNoAllocatorToldOf) {
  DryRun run = Fitting();
  run.processes[0].error_type = "OutOfMemoryError";
  run.processes[0].is_error_of_memory = true;
  EXPECT_EQ(run.verdict(), Verdict::kFits);  // it was caught
  run.exit_status = 1;
  EXPECT_EQ(run.verdict(), Verdict::kDoesNotFit);
}

TEST(Verdict, ACardThatWasUsedWithoutARecordIsNotOneThatWasNotUsed) {
  DryRun run;
  EXPECT_EQ(run.verdict(), Verdict::kCardNotUsed);
  run.was_card_used = true;
  EXPECT_EQ(run.verdict(), Verdict::kNoRecord);
}

TEST(ParseParameter, BothForms) {
  const auto named = ParseParameter("BATCH=2..64", true);
  ASSERT_TRUE(named);
  EXPECT_EQ(named->variable, "BATCH");
  EXPECT_EQ(named->low, 2u);
  EXPECT_EQ(named->high, 64u);
  const auto argument = ParseParameter("1..8", false);
  ASSERT_TRUE(argument);
  EXPECT_TRUE(argument->variable.empty());
}

TEST(ParseParameter, WrongFormsAreNamed) {
  for (const char* text : {"BATCH", "BATCH=", "=1..2", "BATCH=1", "BATCH=0..4", "BATCH=9..4", "BATCH=1..x", "1..4"}) {
    const auto parsed = ParseParameter(text, true);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().message.find(text), std::string::npos);
  }
}

TEST(WithValue, ReplacesEachPlaceAndNothingElse) {
  DryRunRequest request;
  request.command = {"python", "--batch={}", "{}x{}", "plain"};
  const auto changed = WithValue(request, {"", 1, 9}, 7);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->command, (std::vector<std::string>{"python", "--batch=7", "7x7", "plain"}));
  request.command = {"python"};
  EXPECT_FALSE(WithValue(request, {"", 1, 9}, 7));
  EXPECT_EQ(WithValue(request, {"B", 1, 9}, 7)->variables.at("B"), "7");
}

// Every range up to 40 and every place of the border, against the border itself.
TEST(FindLargest, FindsTheBorderWithFewRuns) {
  for (uint64_t high = 1; high <= 40; ++high) {
    for (uint64_t border = 0; border <= high; ++border) {
      std::set<uint64_t> tried;
      const auto search = FindLargest({"B", 1, high}, [&](uint64_t value) -> Result<DryRun> {
        EXPECT_TRUE(tried.insert(value).second) << "a value ran twice";
        return value <= border ? Fitting() : NotFitting();
      });
      ASSERT_TRUE(search);
      if (border == 0) {
        EXPECT_FALSE(search->largest);
      } else {
        EXPECT_EQ(search->largest, border);
      }
      EXPECT_LE(search->trials.size(), 8u);
    }
  }
}

DryRun Failing() {
  DryRun run = Fitting();
  run.exit_status = 2;
  run.processes[0].error_type = "ValueError";
  return run;
}

TEST(FindLargest, AProgramThatFailsOtherwiseBoundsTheSearchAndIsNamed) {
  const auto search =
      FindLargest({"B", 1, 8}, [](uint64_t value) -> Result<DryRun> { return value < 6 ? Fitting() : Failing(); });
  ASSERT_TRUE(search);
  EXPECT_EQ(search->largest, 5u);
  for (const Trial& trial : search->trials)
    EXPECT_EQ(OtherFailure(trial.run), trial.value < 6 ? "" : "ended with ValueError") << trial.value;
}

TEST(FindLargest, AProgramThatFailsWithTheSmallestValueEndsTheSearch) {
  const auto search = FindLargest({"B", 1, 8}, [](uint64_t) -> Result<DryRun> { return Failing(); });
  ASSERT_FALSE(search);
  EXPECT_NE(search.error().message.find("With 1, the smallest value, the program ended with ValueError"),
            std::string::npos);
}

TEST(Sweep, RunsPowersOfTwoAndBothBounds) {
  const auto search =
      Sweep({"B", 3, 20}, [](uint64_t value) -> Result<DryRun> { return value <= 8 ? Fitting() : NotFitting(); });
  ASSERT_TRUE(search);
  std::vector<uint64_t> values;
  for (const Trial& trial : search->trials) values.push_back(trial.value);
  EXPECT_EQ(values, (std::vector<uint64_t>{3, 4, 8, 16, 20}));
  EXPECT_EQ(search->largest, 8u);
}

}  // namespace
}  // namespace memstrata::dryrun
