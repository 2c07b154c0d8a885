#include "analysis/diff/diff.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/frames/useful_frame.h"

namespace memstrata {
namespace {

// Two recordings number their strings and stacks apart, so origins are compared by a hash of their texts. Lines are
// left out: they move when a program is edited. So are the files of generated code, which are named by what is in them.
struct Origins {
  std::vector<uint64_t> by_file;      // [stack]: functions and files
  std::vector<uint64_t> by_function;  // [stack]: functions alone
};

std::pair<uint64_t, uint64_t> NamesOf(const Store& store, FrameId frame) {
  const FrameTable& frames = store.stacks.frames();
  const bool is_generated = frames.kind[frame.value] == FrameKind::kCompiled;
  return {std::hash<std::string_view>{}(store.String(frames.function[frame.value])),
          is_generated ? 0 : std::hash<std::string_view>{}(store.String(frames.file[frame.value]))};
}

Origins OriginsOf(const Store& store) {
  const StackTable& stacks = store.stacks.stacks();
  Origins origins{std::vector<uint64_t>(stacks.size(), 0), std::vector<uint64_t>(stacks.size(), 0)};
  for (uint32_t node = 1; node < stacks.size(); ++node) {  // callers come first
    const uint32_t parent = stacks.parent[node].value;
    const auto [function, file] = NamesOf(store, stacks.frame[node]);
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

// The frames from the innermost to the one that a person would name: the same code, whoever called it.
uint64_t InnerOriginOf(const Store& store, StackId stack) {
  const std::vector<FrameId> frames = FramesOf(store, stack);
  uint64_t origin = 0;
  for (size_t i = 0; i <= UsefulFrameIndex(store, frames); ++i) {
    const auto [function, file] = NamesOf(store, frames[i]);
    const uint64_t parts[] = {origin, function, file};
    origin = HashBytes(parts, sizeof parts);
  }
  return origin;
}

bool IsInAll(const DiffRow& row) { return std::find(row.bytes.begin(), row.bytes.end(), 0U) == row.bytes.end(); }

bool AreInOthers(const DiffRow& a, const DiffRow& b) {
  for (size_t i = 0; i < a.bytes.size(); ++i) {
    if ((a.bytes[i] == 0) != (b.bytes[i] == 0)) return true;
  }
  return false;
}

// What is missing in one recording and comes in another from the same code with other callers has not come and gone:
// rows of equal name would cancel.
void JoinOtherCallers(std::span<const PeakHoldings> recordings, Rows& rows) {
  std::map<Key, std::vector<Rows::iterator>> alike;
  for (auto it = rows.begin(); it != rows.end(); ++it) {
    const DiffRow& row = it->second.diff;
    if (row.stack.value == 0 || IsInAll(row)) continue;
    alike[{InnerOriginOf(*recordings[row.recording].store, row.stack), row.category}].push_back(it);
  }
  for (const auto& [origin, group] : alike) {
    const auto first = group.front();
    const bool cancels = std::any_of(group.begin(), group.end(), [&](const Rows::iterator& other) {
      return AreInOthers(first->second.diff, other->second.diff);
    });
    if (!cancels) continue;
    const auto kept = *std::max_element(group.begin(), group.end(), [](const auto& a, const auto& b) {
      return a->second.diff.recording < b->second.diff.recording;
    });
    for (const Rows::iterator& other : group) {
      if (other == kept) continue;
      DiffRow& sum = kept->second.diff;
      for (size_t i = 0; i < sum.bytes.size(); ++i) sum.bytes[i] += other->second.diff.bytes[i];
      rows.erase(other);
    }
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
  JoinOtherCallers(recordings, rows);
  for (auto& [origin, row] : rows) diff.rows.push_back(std::move(row.diff));
  std::sort(diff.rows.begin(), diff.rows.end(), [](const DiffRow& a, const DiffRow& b) {
    if (a.SpreadBytes() != b.SpreadBytes()) return a.SpreadBytes() > b.SpreadBytes();
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    if (a.category != b.category) return a.category < b.category;
    return a.stack < b.stack;
  });
  return diff;
}

PeakHoldings HoldingsOf(const HeapAnalysis& analysis) {
  return {analysis.store, analysis.heap, analysis.categories, analysis.peak};
}

std::vector<PeakHoldings> HoldingsOf(std::span<const HeapAnalysis> analyses) {
  std::vector<PeakHoldings> holdings;
  for (const HeapAnalysis& analysis : analyses) holdings.push_back(HoldingsOf(analysis));
  return holdings;
}

}  // namespace memstrata
