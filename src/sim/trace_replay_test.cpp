#include "sim/trace_replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "readers/reader.h"
#include "sim/recorded_state.h"

namespace memstrata::sim {
namespace {

namespace fs = std::filesystem;

fs::path DataFolder() {
  const char* named = std::getenv("MEMSTRATA_TEST_DATA");
  return named != nullptr ? fs::path(named) : fs::path(MEMSTRATA_SOURCE_DIR) / ".." / "shared" / "data";
}

std::vector<fs::path> Recordings() {
  std::vector<fs::path> files;
  for (const char* folder : {"torch-snapshot", "model-case", "labelled"}) {
    std::error_code problem;
    for (const auto& entry : fs::directory_iterator(DataFolder() / folder, problem)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".pickle") && name.find("stripped") == std::string::npos) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

Store Open(const fs::path& path) {
  OpenOptions options;
  options.context.limits = DefaultReadLimits();
  const std::string file = path.string();
  Result<Store> store = OpenSession({&file, 1}, options);
  EXPECT_TRUE(store) << path << ": " << (store ? "" : store.error().message);
  return store ? *std::move(store) : Store{};
}

void PrintRow(const std::string& name, const Agreement& agreement) {
  std::printf("%-70.70s places %6u/%6u  calls %4u/%4u  failures %u/%u  final sizes %5u/%5u  unplaced %u  first %d\n",
              name.c_str(), agreement.same_place_count, agreement.allocation_count, agreement.same_driver_call_count,
              agreement.driver_call_count, agreement.same_failure_count, agreement.failure_count,
              agreement.same_final_block_count, agreement.final_block_count, agreement.unplaced_count,
              static_cast<int>(agreement.first_difference_seq));
}

// The real allocator hands out multiples of 512: a file with other addresses was written by a generator.
bool IsOfARealAllocator(const Store& store, const Heap& heap) {
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    if (store.allocations.addr[row] % BlockRounding::kSmallestBlockBytes != 0) return false;
  }
  return true;
}

// The model against the real allocator: the place of every block and every segment of every recording that is there.
TEST(CompareWithRecording, AgreesWithTheRealAllocator) {
  const std::vector<fs::path> files = Recordings();
  if (files.empty()) GTEST_SKIP() << "no recordings of the real allocator in " << DataFolder();
  Agreement sum;
  for (const fs::path& file : files) {
    const Store store = Open(file);
    for (const Heap& heap : store.heaps) {
      if (!CanReplay(heap)) continue;
      const Agreement agreement = CompareWithRecording(store, heap);
      PrintRow(file.filename().string(), agreement);
      if (!IsOfARealAllocator(store, heap)) {
        std::printf("  left out: its addresses are not those of the real allocator\n");
        continue;
      }
      sum.allocation_count += agreement.allocation_count;
      sum.same_place_count += agreement.same_place_count;
      sum.driver_call_count += agreement.driver_call_count;
      sum.same_driver_call_count += agreement.same_driver_call_count;
      EXPECT_TRUE(agreement.IsComplete()) << file;
      EXPECT_EQ(agreement.same_final_block_count, agreement.final_block_count) << file;
    }
  }
  PrintRow("all", sum);
  EXPECT_GT(sum.allocation_count, 0U);
}

uint64_t RecordedPeak(const Store& store, const Heap& heap) {
  uint64_t reserved_bytes = heap.reserved_begin_bytes;
  uint64_t peak_bytes = reserved_bytes;
  for (uint32_t row = heap.events.begin; row < heap.events.end; ++row) {
    const EventKind kind = store.events.kind[row];
    if (kind == EventKind::kSegmentAlloc || kind == EventKind::kSegmentMap)
      reserved_bytes += store.events.size_bytes[row];
    if (kind == EventKind::kSegmentFree || kind == EventKind::kSegmentUnmap)
      reserved_bytes -= store.events.size_bytes[row];
    peak_bytes = std::max(peak_bytes, reserved_bytes);
  }
  return peak_bytes;
}

// One program, recorded with and without expandable segments: the replay of the one must come out as the other.
TEST(ReplayWith, SaysWhatExpandableSegmentsGive) {
  const fs::path folder = DataFolder() / "labelled";
  if (!fs::exists(folder / "bug_fragmentation_expandable.pickle")) GTEST_SKIP() << "no recordings in " << folder;
  const Store plain = Open(folder / "bug_fragmentation.pickle");
  const Store expandable = Open(folder / "bug_fragmentation_expandable.pickle");
  const Heap& heap = plain.heaps[0];
  WhatIf what_if{RecordedSettings(plain, heap), std::nullopt};
  EXPECT_EQ(ReplayWith(plain, heap, what_if).peak_reserved_bytes, RecordedPeak(plain, heap));
  what_if.settings.expandable_segments = true;
  EXPECT_EQ(ReplayWith(plain, heap, what_if).peak_reserved_bytes, RecordedPeak(expandable, expandable.heaps[0]));
}

}  // namespace
}  // namespace memstrata::sim
