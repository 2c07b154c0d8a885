#include "report/html/embedded_run.h"

#include <gtest/gtest.h>

#include "index/test_heap.h"

namespace memstrata {
namespace {

constexpr uint64_t kLarge = 100'000'000;

SessionIndex MakeSession() {
  return SessionIndex(TestHeapMaker({.seed = 3, .event_count = 60'000}).Make(), "test", {});
}

TEST(EmbeddedRun, IsWholeWhereItFits) {
  SessionIndex session = MakeSession();
  EmbeddedAnswers answers(kLarge);
  const EmbeddedRun run = AddRunOf(session, *session.heaps()[0], kLarge, answers);
  EXPECT_TRUE(run.IsWhole());
  EXPECT_EQ(run.kept_figures, run.event_count);
  EXPECT_TRUE(NotesOf(run).empty());
  const Parameters heap = Parameters().Set("heap", uint32_t{0});
  EXPECT_TRUE(answers.Has("run", heap) && answers.Has("run_addresses", heap) && answers.Has("run_times", heap));
  EXPECT_FALSE(answers.Has("run_levels", heap));
}

TEST(EmbeddedRun, IsKeptInPartWhereItDoesNot) {
  SessionIndex session = MakeSession();
  EmbeddedAnswers whole(kLarge);
  AddRunOf(session, *session.heaps()[0], kLarge, whole);
  const uint64_t room = (kLarge - whole.RoomBytes()) / 3;
  EmbeddedAnswers answers(kLarge);
  const EmbeddedRun run = AddRunOf(session, *session.heaps()[0], room, answers);
  EXPECT_FALSE(run.IsWhole());
  EXPECT_GT(run.kept_blocks, 0U);
  EXPECT_GT(run.kept_figures, 0U);
  EXPECT_LT(kLarge - answers.RoomBytes(), room + 1000) << "with the keys";
  ASSERT_FALSE(NotesOf(run).empty());
  EXPECT_NE(NotesOf(run).front().find("--full"), std::string::npos);
  EXPECT_TRUE(answers.Has("run_levels", Parameters().Set("heap", uint32_t{0})));
}

}  // namespace
}  // namespace memstrata
