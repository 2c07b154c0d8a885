#pragma once
// Which allocations a question counts: those that live at a moment, or those made in a range.

#include "query/question.h"

namespace memstrata {

struct Selection {
  std::string_view of;         // "peak", "seq", "end", "allocated", "surviving"
  std::vector<uint32_t> rows;  // of the allocation table, rising
};

/// Reads the parameters of, seq, begin and end. errors: kInvalidArgument   cost: O(allocations)
Result<Selection> SelectRows(HeapEntry& heap, const Parameters& parameters);

/// [begin, end) of a heap's events. errors: kInvalidArgument when empty or past the end
struct SeqRange {
  uint32_t begin = 0;
  uint32_t end = 0;
};
Result<SeqRange> RangeOf(const HeapEntry& heap, const Parameters& parameters);

/// The key of an allocation in the sense of `by`, an index into StackKeys::texts or, for kCategory, the category.
uint32_t KeyOfRow(SessionIndex& session, GroupBy by, uint32_t row);

}  // namespace memstrata
