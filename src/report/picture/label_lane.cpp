#include "report/picture/label_lane.h"

#include <algorithm>

namespace memstrata {
namespace {

constexpr double kFontSize = 12;
constexpr double kTextOffset = 6;  // from the leader
constexpr double kGap = 14;        // between texts of one row
constexpr double kClearance = 4;   // between a text and a leader that passes it

class Lane {
 public:
  Lane(const std::vector<Label>& labels, const LaneFrame& frame) : labels_(labels), frame_(frame) {}

  /// Where there is no room, another label that has room elsewhere makes it.
  void Place(size_t index) {
    if (PlaceInRoom(index)) return;
    for (size_t i = 0; i < placed_.size(); ++i) {
      const std::vector<PlacedLabel> before = placed_;
      const size_t moved = placed_[i].index;
      placed_.erase(placed_.begin() + static_cast<ptrdiff_t>(i));
      if (PlaceInRoom(index) && PlaceInRoom(moved)) return;
      placed_ = before;
    }
  }
  std::vector<PlacedLabel> Take() { return std::move(placed_); }

 private:
  bool PlaceInRoom(size_t index) {
    for (uint32_t row = 0; row < frame_.row_count; ++row) {
      for (size_t place = 0; place < labels_[index].places.size(); ++place) {
        for (const bool text_is_left : {false, true}) {
          const PlacedLabel candidate = {index, place, row, text_is_left};
          if (!Fits(candidate)) continue;
          placed_.push_back(candidate);
          return true;
        }
      }
    }
    return false;
  }

  bool Fits(const PlacedLabel& candidate) const {
    const TextSpan span = SpanOf(labels_[candidate.index], candidate.place, candidate.text_is_left);
    const double x = labels_[candidate.index].places[candidate.place];
    if (x > frame_.closed_left && x < frame_.closed_right) return false;
    if (span.left < frame_.left || span.right > frame_.right) return false;
    return std::none_of(placed_.begin(), placed_.end(),
                        [&](const PlacedLabel& other) { return Collide(candidate, span, other); });
  }

  bool Collide(const PlacedLabel& candidate, TextSpan span, const PlacedLabel& other) const {
    const TextSpan taken = SpanOf(labels_[other.index], other.place, other.text_is_left);
    const double x = labels_[candidate.index].places[candidate.place];
    const double other_x = labels_[other.index].places[other.place];
    if (candidate.row == other.row)
      return std::min(span.left, x) < std::max(taken.right, other_x) + kGap &&
             std::max(span.right, x) + kGap > std::min(taken.left, other_x);
    if (candidate.row < other.row) return x > taken.left - kClearance && x < taken.right + kClearance;
    return other_x > span.left - kClearance && other_x < span.right + kClearance;
  }

  const std::vector<Label>& labels_;
  const LaneFrame& frame_;
  std::vector<PlacedLabel> placed_;
};

}  // namespace

TextSpan SpanOf(const Label& label, size_t place, bool text_is_left) {
  const double x = label.places[place];
  const double width = std::max(TextWidth(label.title, kFontSize, FontWeight::kBold),
                                TextWidth(label.detail, kFontSize, FontWeight::kRegular));
  return text_is_left ? TextSpan{x - kTextOffset - width, x - kTextOffset}
                      : TextSpan{x + kTextOffset, x + kTextOffset + width};
}

LaneLayout PlaceLabels(const std::vector<Label>& labels, const LaneFrame& frame) {
  std::vector<size_t> order;
  for (size_t i = 0; i < labels.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return labels[a].rank != labels[b].rank ? labels[a].rank < labels[b].rank
                                            : labels[a].places.front() < labels[b].places.front();
  });
  Lane lane(labels, frame);
  for (const size_t index : order) lane.Place(index);
  LaneLayout layout = {lane.Take(), 0, 0};
  layout.left_out_count = labels.size() - layout.placed.size();
  for (const PlacedLabel& placed : layout.placed) layout.row_count = std::max(layout.row_count, placed.row + 1);
  return layout;
}

}  // namespace memstrata
