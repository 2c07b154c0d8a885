// XProf's Memory Profile as XProf computes it, mistake for mistake. Each step follows the behaviour described in
// docs/formats/xplane.md, "What XProf computes"; nothing here is a recommendation.

#include <algorithm>
#include <map>

#include "analysis/memory_profile/profile.h"
#include "base/flat_map.h"
#include "base/parallel.h"

namespace memstrata {
namespace {

constexpr std::string_view kUnmappedName = "unused preallocated device memory";

class XProfAllocator {
 public:
  XProfAllocator(const ProfileView& view, std::string id, std::vector<uint32_t> rows)
      : view_(view), rows_(std::move(rows)) {
    allocator_.id = std::move(id);
  }

  ProfileAllocator Run() {
    Summarise();
    SortByOffset();
    FillSteps();
    LabelFrees();
    allocator_.sampled = SampleHighest(snapshots_, view_);
    ActiveAtPeak();
    return std::move(allocator_);
  }

 private:
  // Visits events in the order of the file: the last one gives the "lifetime" peak, and of equal peaks the last wins.
  void Summarise() {
    allocator_.event_count = rows_.size();
    for (const uint32_t row : rows_) {
      ++(view_.IsAllocation(row) ? allocator_.allocation_count : allocator_.free_count);
      allocator_.lifetime_peak_bytes = view_.PeakBytes(row);
      const uint64_t used = view_.UsedBytes(row);
      if (used < allocator_.peak_used_bytes) continue;
      allocator_.peak_used_bytes = used;
      allocator_.peak_row = row;
      allocator_.peak_time_ps = view_.TimePs(row);
      allocator_.capacity_bytes = used + view_.FreeBytes(row);
    }
  }

  // XProf's sort is not stable: where events of equal time end up is up to the standard library. The same one sorts
  // here, from the same order.
  void SortByOffset() {
    struct Timed {
      int64_t offset_ps;
      uint32_t row;
    };
    std::vector<Timed> order;
    order.reserve(rows_.size());
    for (const uint32_t row : rows_) order.push_back({view_.TimePs(row), row});
    std::sort(order.begin(), order.end(), [](const Timed& a, const Timed& b) { return a.offset_ps < b.offset_ps; });
    for (size_t i = 0; i < rows_.size(); ++i) rows_[i] = order[i].row;
  }

  // An event without a step belongs to the step after the last one that had one.
  void FillSteps() {
    snapshots_.reserve(rows_.size());
    int64_t last = -1;
    for (const uint32_t row : rows_) {
      int64_t step = view_.Step(row);
      if (step == kNoStep) step = -1;
      if (step == -1) {
        step = last + 1;
      } else {
        last = step;
      }
      snapshots_.push_back({row, row, step});
    }
  }

  // A free takes the description of the first allocation at its address; a second one at a live address is ignored.
  void LabelFrees() {
    FlatMap<uint64_t, uint32_t> live;
    live.reserve(1024);
    for (ProfileSnapshot& snapshot : snapshots_) {
      const uint64_t addr = view_.Address(snapshot.row);
      if (view_.IsAllocation(snapshot.row)) {
        live.try_emplace(addr, snapshot.row);
        continue;
      }
      const auto found = live.find(addr);
      if (found == live.end()) continue;
      snapshot.label_row = found->second;
      live.erase(found);
    }
  }

  int64_t PeakStep() const {
    for (size_t i = snapshots_.size(); i-- > 0;) {
      if (view_.UsedBytes(snapshots_[i].row) == allocator_.peak_used_bytes) return snapshots_[i].step;
    }
    return 0;
  }

  // Only allocations of the step of the peak count; everything else is one row under a misleading name.
  void ActiveAtPeak() {
    if (allocator_.peak_row == kNone) return;
    const int64_t step = PeakStep();
    uint64_t unmapped = view_.HeapBytes(allocator_.peak_row);  // modulo 2^64, negative values in two's complement
    uint64_t freed_unknown = 0;
    FlatMap<uint64_t, uint32_t> live;  // address → snapshot
    for (uint32_t i = 0; i < snapshots_.size(); ++i) {
      const ProfileSnapshot& snapshot = snapshots_[i];
      if (view_.TimePs(snapshot.row) > allocator_.peak_time_ps) break;
      if (snapshot.step != step) continue;
      const uint64_t size = view_.SizeBytes(snapshot.row);
      const uint64_t addr = view_.Address(snapshot.row);
      if (view_.IsAllocation(snapshot.row)) {
        live[addr] = i;
        unmapped -= size;
      } else {
        if (live.erase(addr) == 0) freed_unknown += size;
        unmapped += size;
      }
    }
    unmapped -= freed_unknown;
    std::vector<uint32_t> indices;
    for (const auto& [addr, index] : live) indices.push_back(index);
    std::sort(indices.begin(), indices.end());
    std::vector<ProfileSnapshot> blocks;
    blocks.reserve(indices.size());
    for (const uint32_t index : indices) blocks.push_back(snapshots_[index]);
    std::vector<ProfileRemainder> remainders;
    const auto unmapped_bytes = static_cast<int64_t>(unmapped);
    if (unmapped_bytes > 0) remainders.push_back({std::string(kUnmappedName), "persist/dynamic", unmapped_bytes, step});
    const auto stack = static_cast<int64_t>(view_.StackBytes(allocator_.peak_row));
    if (stack > 0) remainders.push_back({"stack", "stack", stack, step});
    MakeProfileRows(std::move(blocks), std::move(remainders), view_, allocator_);
  }

  const ProfileView& view_;
  std::vector<uint32_t> rows_;
  std::vector<ProfileSnapshot> snapshots_;
  ProfileAllocator allocator_;
};

// The memory ID under which XProf files an event of the heap with this ID.
std::string_view XProfId(const XPlaneEventTable& details, std::string_view memory_id, uint32_t row) {
  if ((details.blind[row] & kBlindMemoryIdEmpty) != 0) return "";
  if ((details.blind[row] & kBlindMemoryIdZero) != 0) return "0";
  return memory_id;
}

// Brings rows into the order of the file. Positions in the file are dense, so that a table beats sorting for most
// heaps.
void SortByFileOrder(std::vector<uint32_t>& rows, const Column<uint32_t>& file_order) {
  uint32_t end = 0;
  for (const uint32_t row : rows) end = std::max(end, file_order[row] + 1);
  if (end / 16 > rows.size()) {
    std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return file_order[a] < file_order[b]; });
    return;
  }
  std::vector<uint32_t> by_order(end, kNone);
  for (const uint32_t row : rows) by_order[file_order[row]] = row;
  rows.clear();
  std::copy_if(by_order.begin(), by_order.end(), std::back_inserter(rows), [](uint32_t row) { return row != kNone; });
}

using RowsById = std::map<std::string, std::vector<uint32_t>, std::less<>>;

void FileEvents(const Store& store, const Heap& heap, std::string_view memory_id, RowsById& by_id) {
  const XPlaneEventTable& details = store.xplane.events;
  std::vector<uint32_t>* rows = nullptr;
  std::string_view rows_id;
  for (uint32_t row = heap.events.begin; row < heap.events.end; ++row) {
    if (!store.xplane.lines[details.line[row]].is_first_host_plane) continue;
    const std::string_view id = XProfId(details, memory_id, row);
    if (rows == nullptr || id != rows_id) {
      rows = &by_id[std::string(id)];
      rows_id = id;
    }
    rows->push_back(row);
  }
}

}  // namespace

Profile XProfProfile(const Store& store, uint32_t source) {
  Profile profile = EmptyProfile(store, source);
  RowsById by_id;
  for (size_t i = 0; i < store.heaps.size(); ++i) {
    const Heap& heap = store.heaps[i];
    if (heap.source != source || !store.HasXPlaneDetails(heap)) continue;
    FileEvents(store, heap, store.String(store.xplane.memory_ids[i]), by_id);
  }
  const ProfileView view(store, true);
  std::vector<std::pair<const std::string, std::vector<uint32_t>>*> ids;
  for (auto& entry : by_id) ids.push_back(&entry);
  profile.allocators.resize(ids.size());
  ForEachInParallel(ids.size(), [&](size_t i) {
    auto& [id, rows] = *ids[i];
    SortByFileOrder(rows, store.xplane.events.file_order);
    profile.allocators[i] = XProfAllocator(view, id, std::move(rows)).Run();
  });
  return profile;
}

}  // namespace memstrata
