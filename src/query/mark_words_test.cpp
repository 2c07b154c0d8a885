#include "query/mark_words.h"

#include <gtest/gtest.h>

#include <set>

namespace memstrata {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

Mark Of(MarkKind kind, std::optional<uint32_t> count = std::nullopt) {
  Mark mark;
  mark.kind = kind;
  mark.bytes = kGiB;
  mark.count = count;
  mark.text = "loading of the data";
  return mark;
}

TEST(MarkWords, SignWhatComesAndWhatGoes) {
  EXPECT_EQ(WordsOf(Of(MarkKind::kForwardRamp)).title, "Forward ramp, +1.00 GiB");
  EXPECT_EQ(WordsOf(Of(MarkKind::kZeroGradSlope)).title, "zero_grad, \u22121.00 GiB");
  EXPECT_EQ(WordsOf(Of(MarkKind::kLogitsSlab)).title, "Logits, 1.00 GiB");
  Mark none = Of(MarkKind::kForwardRamp);
  none.bytes = 0;
  EXPECT_EQ(WordsOf(none).title, "Forward ramp, 0 B");
}

TEST(MarkWords, CountOneSeveralAndUnknown) {
  EXPECT_EQ(WordsOf(Of(MarkKind::kZeroGradSlope, 1)).detail, "frees 1 gradient");
  EXPECT_EQ(WordsOf(Of(MarkKind::kZeroGradSlope, 1436)).detail, "frees 1,436 gradients");
  EXPECT_EQ(WordsOf(Of(MarkKind::kZeroGradSlope)).detail, "frees – gradients");
  EXPECT_EQ(WordsOf(Of(MarkKind::kForwardRamp)).detail, "kept for the backward");
  EXPECT_EQ(WordsOf(Of(MarkKind::kBackwardStartSpike, 1)).detail, "as large as the logits");
}

TEST(MarkWords, TellAnAnnotationByItsOwnWords) {
  EXPECT_EQ(WordsOf(Of(MarkKind::kAnnotation)).detail, "loading of the data");
}

TEST(MarkWords, OfACliffTellWhatAPersonSeesFall) {
  Mark cliff = Of(MarkKind::kBackwardCliff);
  cliff.fall = {100, 110, 132, 9 * kGiB};
  EXPECT_EQ(WordsOf(cliff).title, "Backward cliff, \u22129.00 GiB in 32 events");
  EXPECT_EQ(WordsOf(cliff).detail, "\u22121.00 GiB of activations in all");
}

TEST(MarkWords, HaveANameForEveryKind) {
  std::set<std::string> names;
  for (size_t kind = 0; kind < std::size(kMarkKindNames); ++kind)
    names.insert(WordsOf(Of(static_cast<MarkKind>(kind))).name);
  EXPECT_EQ(names.size(), std::size(kMarkKindNames));
  EXPECT_FALSE(names.contains(""));
}

}  // namespace
}  // namespace memstrata
