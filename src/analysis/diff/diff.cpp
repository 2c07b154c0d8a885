#include "analysis/diff/diff.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace memstrata {
namespace {

// Two recordings number their strings and stacks apart, so origins are compared by a hash of their texts. Lines are
// left out: they move when a program is edited.
std::vector<uint64_t> OriginsOf(const Store& store) {
  const StackTable& stacks = store.stacks.stacks();
  const FrameTable& frames = store.stacks.frames();
  std::vector<uint64_t> origins(stacks.size(), 0);
  for (uint32_t node = 1; node < stacks.size(); ++node) {  // callers come first
    const uint32_t frame = stacks.frame[node].value;
    const std::string_view function = store.String(frames.function[frame]);
    const std::string_view file = store.String(frames.file[frame]);
    const uint64_t parts[] = {origins[stacks.parent[node].value], std::hash<std::string_view>{}(function),
                              std::hash<std::string_view>{}(file)};
    origins[node] = HashBytes(parts, sizeof parts);
  }
  return origins;
}

using Rows = std::map<std::pair<uint64_t, Category>, DiffRow>;

void AddPeak(const HeapAnalysis& analysis, bool is_after, Rows& rows) {
  const AllocationTable& table = analysis.store->allocations;
  const std::vector<uint64_t> origins = OriginsOf(*analysis.store);
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    if (!IsLive(table, row, analysis.peak.moment)) continue;
    const Category category = analysis.CategoryOf(row);
    DiffRow& diff = rows[{origins[table.stack[row].value], category}];
    diff.category = category;
    diff.stack = table.stack[row];
    diff.is_in_after = is_after;
    (is_after ? diff.after_bytes : diff.before_bytes) += table.size_bytes[row];
  }
}

uint64_t Magnitude(const DiffRow& row) { return static_cast<uint64_t>(std::abs(row.DeltaBytes())); }

}  // namespace

HeapDiff DiffPeaks(const HeapAnalysis& before, const HeapAnalysis& after) {
  HeapDiff diff{before.peak.bytes, after.peak.bytes, {}};
  Rows rows;
  AddPeak(before, false, rows);
  AddPeak(after, true, rows);
  for (const auto& [origin, row] : rows) diff.rows.push_back(row);
  std::sort(diff.rows.begin(), diff.rows.end(), [](const DiffRow& a, const DiffRow& b) {
    if (Magnitude(a) != Magnitude(b)) return Magnitude(a) > Magnitude(b);
    if (a.after_bytes != b.after_bytes) return a.after_bytes > b.after_bytes;
    if (a.category != b.category) return a.category < b.category;
    return a.stack < b.stack;
  });
  return diff;
}

}  // namespace memstrata
