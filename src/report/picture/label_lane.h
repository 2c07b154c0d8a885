#pragma once
// Places the labels of a picture in rows above the plot, each joined to its place by a vertical leader, so that no text
// lies on another and no leader crosses a text.

#include <string>
#include <vector>

#include "report/picture/canvas.h"

namespace memstrata {

struct Label {
  std::vector<double> places;  // x of the leader: where it belongs, and where the same can be seen again
  std::string title;           // bold
  std::string detail;          // below it
  int rank = 0;                // the lowest is placed first, so that the highest is left out where there is no room
};

struct LaneFrame {
  double left = 0;
  double right = 0;
  uint32_t row_count = 0;
  double closed_left = 0;   // no leader between this x
  double closed_right = 0;  // and this one; equal: leaders are free
};

struct PlacedLabel {
  size_t index = 0;  // into the labels
  size_t place = 0;  // into the places of the label
  uint32_t row = 0;
  bool text_is_left = false;  // of the leader
};

struct LaneLayout {
  std::vector<PlacedLabel> placed;
  size_t left_out_count = 0;
  uint32_t row_count = 0;  // in use
};

/// Each label goes into the first row that has room for it at one of its places; where none has, one label may move.
/// cost: O(labels³ · rows · places)
LaneLayout PlaceLabels(const std::vector<Label>& labels, const LaneFrame& frame);

/// Left and right end of a label's text.
struct TextSpan {
  double left = 0;
  double right = 0;
};
TextSpan SpanOf(const Label& label, size_t place, bool text_is_left);

}  // namespace memstrata
