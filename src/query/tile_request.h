#pragma once
// What every kind of tile has in common: a heap, a range of the axis, and its columns.

#include "index/column_grid.h"
#include "query/answer_parts.h"

namespace memstrata {

/// Positions on an axis and sizes in questions: what a browser's numbers hold exactly.
inline constexpr uint64_t kLargestPosition = (1ULL << 53) - 1;

struct TileRequest {
  HeapEntry* heap = nullptr;
  ColumnRange range;
  ColumnGrid grid;
};

/// Reads heap, axis, begin, end and columns. errors: kInvalidArgument, kNotFound
Result<TileRequest> ReadTileRequest(SessionIndex& session, const Parameters& parameters);
/// Writes the attributes, starts the table "columns" and its first columns; further columns may follow.
void StartTile(FrameWriter& frame, const TileRequest& request);

/// The kind xla_profile (query/questions/profile_tile.cpp).
Result<Answer> AnswerProfileTile(SessionIndex& session, const Parameters& parameters);

}  // namespace memstrata
