#include "accept/baseline.h"

#include <gtest/gtest.h>

#include "accept/baseline_store.h"
#include "analysis/diff/diff.h"

namespace memstrata::accept {
namespace {

Baseline Small() {
  const BaselineFrame forward{"forward", "model.py"};
  const BaselineFrame train{"train", "train.py"};
  BaselineHeap heap{"cuda:0", {{"peak_live", {100, 110}}}, {}};
  heap.holders = {{70, "activation", {forward, train}}, {30, "parameter", {train}}, {10, "unknown", {}}};
  return {2, "5%", {heap}};
}

TEST(Baseline, WhatIsWrittenIsReadAgain) {
  const std::string text = BaselineJson(Small());
  const Result<Baseline> read = ParseBaseline(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(BaselineJson(*read), text);
  EXPECT_EQ(read->heaps[0].holders[0].stack[1].function, "train");
  EXPECT_EQ(read->tolerance, "5%");
}

TEST(Baseline, FramesAreNumberedTheSameWhateverTheOrderOfHolders) {
  Baseline other = Small();
  std::swap(other.heaps[0].holders[0], other.heaps[0].holders[1]);
  const std::string text = BaselineJson(Small());
  const std::string swapped = BaselineJson(other);
  EXPECT_EQ(text.substr(text.find("\"frames\"")), swapped.substr(swapped.find("\"frames\"")));
}

TEST(Baseline, HoldersBecomeARecordingThatDiffCompares) {
  const BaselineHeap before = Small().heaps[0];
  BaselineHeap after = before;
  after.holders[0].bytes += 25;
  const Result<Store> before_store = StoreOf(before);
  const Result<Store> after_store = StoreOf(after);
  ASSERT_TRUE(before_store && after_store);
  const HeapAnalysis recordings[] = {PeakOf(before, *before_store), PeakOf(after, *after_store)};
  const HeapDiff diff = DiffPeaks(HoldingsOf(recordings));
  EXPECT_EQ(diff.DeltaBytes(), 25);
  ASSERT_EQ(diff.rows.size(), 3u);
  EXPECT_EQ(diff.rows[0].DeltaBytes(), 25);
  EXPECT_EQ(diff.rows[0].category, Category::kActivation);
  EXPECT_EQ(HoldersOf(recordings[0]).size(), before.holders.size());
  EXPECT_EQ(HoldersOf(recordings[0])[0].stack, before.holders[0].stack);
}

TEST(Baseline, SaysWhatIsWrong) {
  const std::string good = BaselineJson(Small());
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const Result<Baseline> read = ParseBaseline(text);
    return read ? std::string("accepted") : read.error().message;
  };
  EXPECT_NE(with("baseline/1", "baseline/9").find("baseline/9"), std::string::npos);
  EXPECT_NE(with("\"cuda:0\"", "7").find("\"id\" is not a text"), std::string::npos);
  EXPECT_NE(with("110", "-1").find("not a whole number"), std::string::npos);
  EXPECT_NE(with("\"5%\"", "\"much\"").find("not a tolerance"), std::string::npos);
  EXPECT_FALSE(ParseBaseline(""));
  EXPECT_FALSE(ParseBaseline("[]"));
  EXPECT_FALSE(ParseBaseline(good.substr(0, good.size() / 2)));
  EXPECT_FALSE(ParseBaseline(std::string(1 << 20, '[')));
}

}  // namespace
}  // namespace memstrata::accept
