#include "query/selection.h"

namespace memstrata {
namespace {

constexpr std::string_view kSelections[] = {"peak", "seq", "end", "allocated", "surviving"};

Result<Moment> MomentOfSelection(HeapEntry& heap, size_t of, const Parameters& parameters) {
  if (of == 0) return heap.heap_index.LivePeak().moment;
  if (of == 2) return Moment::End(heap.heap);
  MEMSTRATA_ASSIGN_OR_RETURN(const uint32_t seq, SeqOf(heap, parameters, "seq"));
  return heap.heap_index.MomentAt(seq);
}

}  // namespace

Result<SeqRange> RangeOf(const HeapEntry& heap, const Parameters& parameters) {
  const uint32_t range_end = heap.heap_index.range_end();
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t begin, parameters.Number("begin", range_end));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t end, parameters.Number("end", range_end));
  if (begin >= end) return Fail(ErrorCode::kInvalidArgument, "The range is empty.");
  return SeqRange{static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
}

Result<Selection> SelectRows(HeapEntry& heap, const Parameters& parameters) {
  const AllocationTable& table = heap.store.allocations;
  const RowRange all = heap.heap.allocations;
  MEMSTRATA_ASSIGN_OR_RETURN(const size_t of, parameters.Choice("of", kSelections, "peak"));
  Selection selection{kSelections[of], {}};
  if (of < 3) {
    MEMSTRATA_ASSIGN_OR_RETURN(const Moment at, MomentOfSelection(heap, of, parameters));
    for (uint32_t row = all.begin; row < all.end; ++row) {
      if (IsLive(table, row, at)) selection.rows.push_back(row);
    }
    return selection;
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const SeqRange range, RangeOf(heap, parameters));
  for (uint32_t row = all.begin; row < all.end; ++row) {
    const bool made_inside = table.alloc_seq[row] >= range.begin && table.alloc_seq[row] < range.end;  // kNone is not
    if (made_inside && (of == 3 || table.free_seq[row] >= range.end)) selection.rows.push_back(row);
  }
  return selection;
}

uint32_t KeyOfRow(SessionIndex& session, GroupBy by, uint32_t row) {
  if (by == GroupBy::kCategory) return static_cast<uint32_t>(session.CategoryOfRow()[row]);
  return KeyOfStackedRow(session.store().allocations, session.Keys(by), row);
}

}  // namespace memstrata
