#include "report/picture/label_lane.h"

#include <gtest/gtest.h>

namespace memstrata {
namespace {

constexpr LaneFrame kFrame = {.left = 0, .right = 1000, .row_count = 3};

Label At(double x, int rank = 0) { return {{x}, "A label with a name: 4.64 GiB", "and what it is made of", rank}; }

// No text lies on another, and no leader crosses a text.
void ExpectClear(const std::vector<Label>& labels, const LaneLayout& layout) {
  for (const PlacedLabel& a : layout.placed) {
    const TextSpan span = SpanOf(labels[a.index], a.place, a.text_is_left);
    EXPECT_GE(span.left, kFrame.left);
    EXPECT_LE(span.right, kFrame.right);
    for (const PlacedLabel& b : layout.placed) {
      if (a.index == b.index) continue;
      const TextSpan other = SpanOf(labels[b.index], b.place, b.text_is_left);
      if (a.row == b.row) EXPECT_TRUE(span.right < other.left || other.right < span.left);
      const double leader = labels[b.index].places[b.place];
      if (b.row <= a.row) EXPECT_TRUE(leader < span.left || leader > span.right) << leader;
    }
  }
}

TEST(LabelLane, PlacesLabelsFarApartInTheFirstRow) {
  const std::vector<Label> labels = {At(700), At(10), At(350)};
  const LaneLayout layout = PlaceLabels(labels, kFrame);
  ASSERT_EQ(layout.placed.size(), 3U);
  for (const PlacedLabel& label : layout.placed) EXPECT_EQ(label.row, 0U);
  ExpectClear(labels, layout);
}

TEST(LabelLane, PutsCloseLabelsIntoDeeperRows) {
  const std::vector<Label> labels = {At(300), At(340), At(380)};
  const LaneLayout layout = PlaceLabels(labels, kFrame);
  EXPECT_EQ(layout.left_out_count, 0U);
  ExpectClear(labels, layout);
}

TEST(LabelLane, TextOfTheLastLabelLiesLeftOfItsLeader) {
  const std::vector<Label> labels = {At(995)};
  const LaneLayout layout = PlaceLabels(labels, kFrame);
  ASSERT_EQ(layout.placed.size(), 1U);
  EXPECT_TRUE(layout.placed[0].text_is_left);
}

TEST(LabelLane, LeavesOutTheHighestRankAndCountsIt) {
  std::vector<Label> labels;
  for (int i = 0; i < 12; ++i) labels.push_back(At(400 + 8 * i, i == 5 ? 0 : i + 1));
  const LaneLayout layout = PlaceLabels(labels, kFrame);
  EXPECT_GT(layout.left_out_count, 0U);
  EXPECT_EQ(layout.placed.size() + layout.left_out_count, labels.size());
  bool has_first = false;
  for (const PlacedLabel& label : layout.placed) has_first = has_first || label.index == 5;
  EXPECT_TRUE(has_first);
  ExpectClear(labels, layout);
}

TEST(LabelLane, UsesAnotherPlaceBeforeADeeperRow) {
  std::vector<Label> labels = {At(300), At(310, 1)};
  labels[1].places.push_back(700);
  const LaneLayout layout = PlaceLabels(labels, kFrame);
  ASSERT_EQ(layout.placed.size(), 2U);
  EXPECT_EQ(layout.row_count, 1U);
  EXPECT_EQ(layout.placed[1].place, 1U);
}

TEST(LabelLane, ALabelThatCanLieElsewhereMakesRoom) {
  std::vector<Label> labels = {At(300), At(310, 1)};
  labels[0].places.push_back(700);
  const LaneLayout layout = PlaceLabels(labels, {.left = 0, .right = 1000, .row_count = 1});
  ASSERT_EQ(layout.placed.size(), 2U);
  for (const PlacedLabel& label : layout.placed) EXPECT_EQ(label.place, label.index == 0 ? 1U : 0U);
  ExpectClear(labels, layout);
}

TEST(LabelLane, NoLeaderCrossesWhatIsClosed) {
  std::vector<Label> labels = {At(300), At(320, 1)};
  labels[0].places.push_back(700);
  const LaneLayout layout =
      PlaceLabels(labels, {.left = 0, .right = 1000, .row_count = 3, .closed_left = 200, .closed_right = 400});
  ASSERT_EQ(layout.placed.size(), 1U);
  EXPECT_EQ(layout.placed[0].place, 1U);
  EXPECT_EQ(layout.left_out_count, 1U);
}

TEST(LabelLane, ALabelWiderThanTheFrameIsLeftOut) {
  const std::vector<Label> labels = {{{10}, std::string(400, 'x'), "", 0}};
  EXPECT_EQ(PlaceLabels(labels, kFrame).left_out_count, 1U);
}

}  // namespace
}  // namespace memstrata
