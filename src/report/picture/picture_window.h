#pragma once
// Which part of a recording a picture shows.

#include "query/explain.h"

namespace memstrata {

struct PictureWindow {
  uint32_t begin_seq = 0;
  uint32_t end_seq = 0;
  uint32_t first_step = 0;
  uint32_t step_count = 0;  // shown
  bool is_whole = true;
};

/// Few steps: all of them. Many: the representative step between its neighbours, or the last ones before a failed
/// request; all where memory grows, because then the whole run is the shape.
PictureWindow ChooseWindow(const HeapExplained& heap);

}  // namespace memstrata
