#include "analysis/diff/diff.h"

#include <algorithm>
#include <map>

namespace memstrata {
namespace {

// Two recordings number their strings and stacks apart, so origins are compared by a hash of their texts. Lines are
// left out: they move when a program is edited. So are the files of generated code, which are named by what is in them.
struct Origins {
  std::vector<uint64_t> by_file;      // [stack]: functions and files
  std::vector<uint64_t> by_function;  // [stack]: functions alone
};

Origins OriginsOf(const Store& store) {
  const StackTable& stacks = store.stacks.stacks();
  const FrameTable& frames = store.stacks.frames();
  Origins origins{std::vector<uint64_t>(stacks.size(), 0), std::vector<uint64_t>(stacks.size(), 0)};
  for (uint32_t node = 1; node < stacks.size(); ++node) {  // callers come first
    const uint32_t frame = stacks.frame[node].value;
    const uint32_t parent = stacks.parent[node].value;
    const uint64_t function = std::hash<std::string_view>{}(store.String(frames.function[frame]));
    const bool is_generated = frames.kind[frame] == FrameKind::kCompiled;
    const uint64_t file = is_generated ? 0 : std::hash<std::string_view>{}(store.String(frames.file[frame]));
    const uint64_t with_file[] = {origins.by_file[parent], function, file};
    const uint64_t without_file[] = {origins.by_function[parent], function};
    origins.by_file[node] = HashBytes(with_file, sizeof with_file);
    origins.by_function[node] = HashBytes(without_file, sizeof without_file);
  }
  return origins;
}

struct Row {
  DiffRow diff;
  uint64_t by_function = 0;
};
using Key = std::pair<uint64_t, Category>;
using Rows = std::map<Key, Row>;

void AddPeak(const PeakHoldings& holdings, uint32_t recording, size_t recording_count, bool is_by_category,
             Rows& rows) {
  const AllocationTable& table = holdings.store->allocations;
  const Origins origins = OriginsOf(*holdings.store);
  for (uint32_t row = holdings.heap->allocations.begin; row < holdings.heap->allocations.end; ++row) {
    if (!IsLive(table, row, holdings.peak.moment)) continue;
    const uint32_t stack = is_by_category ? 0 : table.stack[row].value;
    const Category category = holdings.categories[row - holdings.heap->allocations.begin];
    Row& found = rows[{origins.by_file[stack], category}];
    found.by_function = origins.by_function[stack];
    found.diff.category = category;
    found.diff.stack = {stack};
    found.diff.recording = recording;
    found.diff.bytes.resize(recording_count, 0);
    found.diff.bytes[recording] += table.size_bytes[row];
  }
}

// An origin that ends and one that begins with the same functions for the same purpose are one whose file moved, when
// no other origin has these functions.
void JoinMoved(Rows& rows) {
  std::map<Key, std::vector<Rows::iterator>> alike;
  for (auto it = rows.begin(); it != rows.end(); ++it) {
    if (it->second.by_function != 0) alike[{it->second.by_function, it->second.diff.category}].push_back(it);
  }
  for (const auto& [functions, group] : alike) {
    if (group.size() != 2) continue;
    DiffRow& a = group[0]->second.diff;
    DiffRow& b = group[1]->second.diff;
    bool is_disjoint = true;
    for (size_t i = 0; i < a.bytes.size(); ++i) is_disjoint &= a.bytes[i] == 0 || b.bytes[i] == 0;
    if (!is_disjoint) continue;
    DiffRow& later = a.recording > b.recording ? a : b;
    const DiffRow& earlier = a.recording > b.recording ? b : a;
    for (size_t i = 0; i < later.bytes.size(); ++i) later.bytes[i] += earlier.bytes[i];
    rows.erase(&later == &a ? group[1] : group[0]);
  }
}

}  // namespace

HeapDiff DiffPeaks(std::span<const PeakHoldings> recordings) {
  HeapDiff diff;
  diff.is_by_category = !std::all_of(recordings.begin(), recordings.end(), [](const PeakHoldings& recording) {
    return recording.heap->capabilities.has_stacks || recording.peak.bytes == 0;
  });
  Rows rows;
  for (uint32_t i = 0; i < recordings.size(); ++i) {
    diff.peak_bytes.push_back(recordings[i].peak.bytes);
    AddPeak(recordings[i], i, recordings.size(), diff.is_by_category, rows);
  }
  JoinMoved(rows);
  for (auto& [origin, row] : rows) diff.rows.push_back(std::move(row.diff));
  std::sort(diff.rows.begin(), diff.rows.end(), [](const DiffRow& a, const DiffRow& b) {
    if (a.SpreadBytes() != b.SpreadBytes()) return a.SpreadBytes() > b.SpreadBytes();
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    if (a.category != b.category) return a.category < b.category;
    return a.stack < b.stack;
  });
  return diff;
}

HeapDiff DiffPeaks(std::span<const HeapAnalysis> recordings) {
  std::vector<PeakHoldings> holdings;
  holdings.reserve(recordings.size());
  for (const HeapAnalysis& analysis : recordings)
    holdings.push_back({analysis.store, analysis.heap, analysis.categories, analysis.peak});
  return DiffPeaks(holdings);
}

}  // namespace memstrata
