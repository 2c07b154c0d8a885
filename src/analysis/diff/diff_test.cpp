#include "analysis/diff/diff.h"

#include <gtest/gtest.h>

#include "analysis/diff/regressions.h"
#include "analysis/test_program.h"

namespace memstrata {
namespace {

struct Block {
  uint64_t size_bytes;
  TestProgram::Frames frames;
};

// Makes these blocks and keeps them.
Store MakeProgram(std::initializer_list<Block> blocks) {
  TestProgram program;
  for (const Block& block : blocks) program.Alloc(block.size_bytes, block.frames);
  return program.Finish();
}

HeapDiff Diff(const std::vector<HeapAnalysis>& analyses) { return DiffPeaks(HoldingsOf(analyses)); }

std::vector<HeapAnalysis> Analyse(std::initializer_list<const Store*> stores) {
  std::vector<HeapAnalysis> analyses;
  for (const Store* store : stores) analyses.push_back(AnalyseHeap(*store, store->heaps[0]));
  return analyses;
}

TEST(DiffPeaks, AddsUpToTheDifferenceOfThePeaks) {
  const Store before = MakeTraining(3);
  const Store after = MakeTraining(5, 3 << 20);
  const HeapDiff diff = Diff(Analyse({&before, &after}));
  int64_t sum = 0;
  for (const DiffRow& row : diff.rows) sum += row.DeltaBytes();
  EXPECT_EQ(sum, diff.DeltaBytes());
  EXPECT_EQ(diff.rows[0].BeforeBytes(), 0U);
  EXPECT_EQ(diff.rows[0].DeltaBytes(), sum);  // the leak is the whole difference
}

TEST(DiffPeaks, MovedLinesAreTheSameOrigin) {
  const Store before = MakeProgram({{100, {"<module>@train.py:10", "forward@model.py:3"}}});
  const Store after = MakeProgram({{130, {"<module>@train.py:12", "forward@model.py:9"}}});
  const HeapDiff diff = Diff(Analyse({&before, &after}));
  ASSERT_EQ(diff.rows.size(), 1U);
  EXPECT_EQ(diff.rows[0].BeforeBytes(), 100U);
  EXPECT_EQ(diff.rows[0].AfterBytes(), 130U);
}

TEST(DiffPeaks, AMovedFileIsTheSameOrigin) {
  const Store before = MakeProgram({{100, {"<module>@train.py:10", "forward@model.py:3"}}});
  const Store after = MakeProgram({{130, {"<module>@main.py:12", "forward@layers/model.py:9"}}});
  const HeapDiff diff = Diff(Analyse({&before, &after}));
  ASSERT_EQ(diff.rows.size(), 1U);
  EXPECT_EQ(diff.rows[0].DeltaBytes(), 30);
}

TEST(DiffPeaks, ARowOfRecordingsIsATrend) {
  std::vector<Store> stores;
  for (const uint64_t size_bytes : {100U, 100U, 400U}) {
    stores.push_back(MakeProgram({{size_bytes, {"<module>@train.py:10"}}}));
  }
  const std::vector<HeapAnalysis> analyses = Analyse({&stores[0], &stores[1], &stores[2]});
  const HeapDiff diff = Diff(analyses);
  EXPECT_EQ(diff.rows[0].bytes, (std::vector<uint64_t>{100, 100, 400}));
  const std::vector<Regression> sentences = DescribeDiff(HoldingsOf(analyses), diff, 5);
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_EQ(sentences[0].text, "The live peak grows by 300 B from recording 2 to 3.");
  EXPECT_EQ(sentences[1].bytes, 300);
}

TEST(DiffPeaks, TheSameCodeWithAnotherCallerDoesNotCancel) {
  const Store before = MakeProgram({{100, {"main@train.py:3", "leak_cache@train.py:10", "features@model.py:3"}},
                                    {40, {"main@train.py:3", "leak_cache@train.py:11", "head@model.py:7"}}});
  const Store after = MakeProgram({{100, {"main@train.py:3", "leak_hook@train.py:20", "features@model.py:3"}}});
  const HeapDiff diff = Diff(Analyse({&before, &after}));
  ASSERT_EQ(diff.rows.size(), 2U);
  EXPECT_EQ(diff.rows[0].DeltaBytes(), -40);  // head() has not come back
  EXPECT_EQ(diff.rows[1].bytes, (std::vector<uint64_t>{100, 100}));
}

// Where one caller stays and another is gone, nothing has moved.
TEST(DiffPeaks, ACallerThatIsGoneIsGone) {
  const Store before = MakeProgram({{100, {"main@train.py:3", "encoder@model.py:10", "layer@model.py:3"}},
                                    {100, {"main@train.py:3", "decoder@model.py:20", "layer@model.py:3"}}});
  const Store after = MakeProgram({{100, {"main@train.py:3", "encoder@model.py:10", "layer@model.py:3"}}});
  const HeapDiff diff = Diff(Analyse({&before, &after}));
  ASSERT_EQ(diff.rows.size(), 2U);
  EXPECT_EQ(diff.rows[0].DeltaBytes(), -100);
}

// The files of generated code are named by what is in them, and so differ from build to build.
TEST(DiffPeaks, GeneratedFilesAreOneOrigin) {
  std::vector<Store> stores;
  for (const std::string_view frame :
       {"call@/tmp/torchinductor_me/ab/cab.py:40", "call@/tmp/torchinductor_me/cd/ccd.py:44"}) {
    stores.push_back(MakeProgram({{100, {"<module>@train.py:10", frame}}}));
  }
  const HeapDiff diff = Diff(Analyse({&stores[0], &stores[1]}));
  ASSERT_EQ(diff.rows.size(), 1U);
  EXPECT_EQ(diff.rows[0].DeltaBytes(), 0);
}

// The same program with call stacks and without.
TEST(DiffPeaks, ARecordingWithoutStacksIsComparedByPurpose) {
  const Store with_stacks = MakeTraining(3);
  const Store without = MakeTraining(3, 0, false);
  const std::vector<HeapAnalysis> analyses = Analyse({&with_stacks, &without});
  const HeapDiff diff = Diff(analyses);
  EXPECT_TRUE(diff.is_by_category);
  for (const DiffRow& row : diff.rows) EXPECT_EQ(row.stack.value, 0U);
  EXPECT_EQ(DescribeDiff(HoldingsOf(analyses), diff, 5)[1].text,
            "Not all recordings have call stacks: blocks are matched by their purpose alone.");
}

// The same line, called from another function: its bytes are where they were.
TEST(DiffPeaks, WhatMovedToAnotherCallerIsNoChangeInWords) {
  std::vector<Store> stores;
  for (const std::string_view caller : {"leak_cache@run.py:34", "leak_hook@run.py:45"}) {
    TestProgram program;
    program.Alloc(1000, {"<module>@run.py:90", caller, "features@run.py:10"});
    if (stores.size() == 1) program.Alloc(300, {"<module>@run.py:90", caller, "hook@run.py:40"});
    stores.push_back(program.Finish());
  }
  const std::vector<HeapAnalysis> analyses = Analyse({&stores[0], &stores[1]});
  const HeapDiff diff = Diff(analyses);
  EXPECT_EQ(diff.rows.size(), 2U);
  const std::vector<Regression> sentences = DescribeDiff(HoldingsOf(analyses), diff, 5);
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_EQ(sentences[1].bytes, 300);
  EXPECT_NE(sentences[1].text.find("hook"), std::string::npos);
}

// Of two callers that both stay, one makes more and the other less of the same: two rows, and no sentence.
TEST(DiffPeaks, RowsOfOneNameAreOneInWords) {
  std::vector<Store> stores;
  for (const uint64_t of_encoder : {1000U, 400U}) {
    stores.push_back(
        MakeProgram({{of_encoder, {"<module>@run.py:90", "encoder@run.py:34", "layer@run.py:10"}},
                     {1400 - of_encoder, {"<module>@run.py:90", "decoder@run.py:44", "layer@run.py:10"}}}));
  }
  const std::vector<HeapAnalysis> analyses = Analyse({&stores[0], &stores[1]});
  const HeapDiff diff = Diff(analyses);
  EXPECT_EQ(diff.rows.size(), 2U);
  EXPECT_EQ(DescribeDiff(HoldingsOf(analyses), diff, 5).size(), 1U);  // that the peaks are equal
}

TEST(DiffPeaks, TheHighestOfARowIsTold) {
  std::vector<Store> stores;
  for (const uint64_t size_bytes : {100U, 400U, 100U}) {
    stores.push_back(MakeProgram({{size_bytes, {"<module>@train.py:10", "keep@train.py:3"}}}));
  }
  const std::vector<HeapAnalysis> analyses = Analyse({&stores[0], &stores[1], &stores[2]});
  const HeapDiff diff = Diff(analyses);
  EXPECT_EQ(diff.rows[0].SpreadBytes(), 300U);
  const std::vector<Regression> sentences = DescribeDiff(HoldingsOf(analyses), diff, 5);
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_EQ(sentences[1].bytes, 300);
  EXPECT_EQ(sentences[1].text.find("Recording 2 is the highest, with 400 B: 300 B more than the first"), 0U);
}

}  // namespace
}  // namespace memstrata
