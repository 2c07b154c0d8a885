// The Memory Profile as it should be: true order, every event counted, everything live at the peak in the table, with
// the allocation that made it, and rows that add up to the peak.

#include <algorithm>

#include "analysis/memory_profile/profile.h"
#include "model/store/moment.h"

namespace memstrata {
namespace {

ProfileSnapshot SnapshotOf(const Store& store, const Heap& heap, uint32_t row, const ProfileView& view) {
  uint32_t label_row = row;
  const uint32_t block = store.events.allocation[row];
  if (!view.IsAllocation(row) && block != kNone && store.allocations.alloc_seq[block] != kNone) {
    label_row = store.EventRow(heap, store.allocations.alloc_seq[block]);
  }
  return {row, label_row, view.Step(row)};
}

void FindPeak(const Heap& heap, const ProfileView& view, ProfileAllocator& allocator) {
  allocator.event_count = heap.events.size();
  for (uint32_t row = heap.events.begin; row < heap.events.end; ++row) {
    ++(view.IsAllocation(row) ? allocator.allocation_count : allocator.free_count);
    allocator.lifetime_peak_bytes = std::max({allocator.lifetime_peak_bytes, view.PeakBytes(row), view.HeapBytes(row)});
    if (allocator.peak_row != kNone && view.UsedBytes(row) <= allocator.peak_used_bytes) {
      if (view.UsedBytes(row) == allocator.peak_used_bytes) ++allocator.tied_count;
      continue;
    }
    allocator.peak_row = row;
    allocator.peak_used_bytes = view.UsedBytes(row);
    allocator.tied_count = 0;
  }
  allocator.peak_time_ps = view.TimePs(allocator.peak_row);
  allocator.capacity_bytes = allocator.peak_used_bytes + view.FreeBytes(allocator.peak_row);
}

}  // namespace

void BreakDown(const Store& store, const Heap& heap, uint32_t moment_row, ProfileAllocator& allocator) {
  const ProfileView view(store, false);
  const AllocationTable& table = store.allocations;
  const Moment moment = Moment::AfterEvent(moment_row - heap.events.begin);
  std::vector<ProfileSnapshot> blocks;
  // Modulo 2^64: the rows add up to the level whatever a damaged file says.
  uint64_t known_bytes = 0;
  uint64_t earlier_bytes = 0;
  for (uint32_t block = heap.allocations.begin; block < heap.allocations.end; ++block) {
    const bool is_stack = (table.flags[block] & kReservedStack) != 0;  // a remainder of its own below
    if (is_stack || !IsLive(table, block, moment)) continue;
    if (table.alloc_seq[block] == kNone) {
      earlier_bytes += table.size_bytes[block];
      continue;
    }
    const uint32_t row = store.EventRow(heap, table.alloc_seq[block]);
    blocks.push_back({row, row, view.Step(row)});
    known_bytes += view.SizeBytes(row);
  }
  const int64_t step = view.Step(moment_row);
  std::vector<ProfileRemainder> remainders;
  if (earlier_bytes != 0) {
    remainders.push_back({std::string(kBeforeRecordingName), "", static_cast<int64_t>(earlier_bytes), step});
  }
  const auto stack = static_cast<int64_t>(view.StackBytes(moment_row));
  if (stack != 0) remainders.push_back({std::string(kStackName), "stack", stack, step});
  const auto rest = static_cast<int64_t>(view.HeapBytes(moment_row) - known_bytes - earlier_bytes);
  if (rest != 0) remainders.push_back({std::string(kNotRecordedName), "", rest, step});
  MakeProfileRows(std::move(blocks), std::move(remainders), view, allocator);
}

ProfileAllocator CorrectAllocator(const Store& store, uint32_t heap_row) {
  const Heap& heap = store.heaps[heap_row];
  const ProfileView view(store, false);
  ProfileAllocator allocator;
  allocator.id = store.String(store.xplane.memory_ids[heap_row]);
  FindPeak(heap, view, allocator);
  BreakDown(store, heap, allocator.peak_row, allocator);
  return allocator;
}

Profile CorrectProfile(const Store& store, uint32_t source) {
  Profile profile = EmptyProfile(store, source);
  const ProfileView view(store, false);
  for (uint32_t i = 0; i < store.heaps.size(); ++i) {
    const Heap& heap = store.heaps[i];
    if (heap.source != source || !store.HasXPlaneDetails(heap)) continue;
    profile.allocators.push_back(CorrectAllocator(store, i));
    std::vector<ProfileSnapshot> all;
    all.reserve(heap.events.size());
    for (uint32_t row = heap.events.begin; row < heap.events.end; ++row)
      all.push_back(SnapshotOf(store, heap, row, view));
    profile.allocators.back().sampled = SampleHighest(all, view);
  }
  return profile;
}

}  // namespace memstrata
