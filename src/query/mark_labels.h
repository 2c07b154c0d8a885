#pragma once
// Which marks of a heap become labels of its timeline, what they say, and where they point: one choice for the page and
// for pictures.

#include <string>
#include <vector>

#include "query/explain.h"
#include "query/mark_words.h"

namespace memstrata {

/// A label before it has a place: it points at the live curve at an event.
struct MarkLabel {
  uint32_t mark = kNone;       // index into the marks; kNone: the peak, or a request that failed
  std::vector<uint32_t> seqs;  // where it belongs, and the same moments of steps that are like its own
  std::string title;           // what, and bytes
  std::string detail;          // why
  int rank = 0;                // the lowest is placed first
  bool is_alarm = false;       // a request that failed
};

/// Where a mark is pointed at: slopes in their middle, tops where they are highest, blocks where they are made.
/// cost: O(log events) but for the copies of autocast, O(length of the mark)
uint32_t AnchorOf(const HeapExplained& heap, const Mark& mark);

/// The peak, the request that ended the run, the anatomy of the representative step, and of the other steps one mark of
/// each kind that it lacks. cost: O(marks · steps)
std::vector<MarkLabel> LabelsOf(const HeapExplained& heap);

}  // namespace memstrata
