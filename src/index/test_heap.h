#pragma once
// Random heaps for the tests of this layer: allocations and frees in random order, some from before the recording, some
// never freed, some that wait for another stream.

#include <gtest/gtest.h>

#include <random>

#include "model/ingest/allocation_tracker.h"
#include "model/store/store_builder.h"

namespace memstrata {

struct TestHeapOptions {
  uint32_t seed = 1;
  uint32_t event_count = 400;
  uint64_t largest_bytes = 5000;
  bool with_segments = false;
};

/// Appends events by hand and pairs them as readers do.
class TestHeapMaker {
 public:
  explicit TestHeapMaker(const TestHeapOptions& options) : options_(options), random_(options.seed) {}

  Store Make() {
    Heap heap{.id = "cuda:0", .allocator = "test"};
    builder_.AddSource({.file = "test", .format = "test"});
    builder_.InternStream(0);
    while (count_ < options_.event_count) Step();
    heap.events = {0, count_};
    heap.capabilities = {
        .has_time = true, .has_events = true, .has_block_bytes = true, .has_segments = options_.with_segments};
    const BlockRounding rounding;
    AllocationTracker tracker(builder_, heap, &rounding);
    EXPECT_TRUE(tracker.Run(nullptr).has_value());
    builder_.store().heaps.push_back(heap);
    Result<Store> store = std::move(builder_).Finalize();
    EXPECT_TRUE(store.has_value()) << store.error().message;
    return std::move(*store);
  }

 private:
  uint64_t Below(uint64_t end) { return std::uniform_int_distribution<uint64_t>(0, end - 1)(random_); }

  void Push(EventKind kind, uint64_t addr, uint64_t size_bytes) {
    EventTable& events = builder_.store().events;
    events.kind.PushBack(kind);
    events.addr.PushBack(addr);
    events.size_bytes.PushBack(size_bytes);
    time_ns_ += static_cast<int64_t>(Below(3)) - (Below(20) == 0 ? 2 : 0);  // neighbours share a time, some go back
    events.time_ns.PushBack(time_ns_);
    events.stream.PushBack(0);
    events.stack.PushBack({0});
    ++count_;
  }

  void Step() {
    const uint64_t dice = Below(10);
    if (dice < 5 || live_.empty()) {
      const uint64_t size_bytes = 1 + Below(options_.largest_bytes);
      Push(EventKind::kAlloc, next_addr_, size_bytes);
      live_.push_back({next_addr_, size_bytes});
      next_addr_ += (size_bytes + 511) / 512 * 512;
    } else if (dice < 9) {
      const size_t index = Below(live_.size());
      const auto [addr, size_bytes] = live_[index];
      live_.erase(live_.begin() + static_cast<ptrdiff_t>(index));
      Push(EventKind::kFreeRequested, addr, size_bytes);
      if (Below(4) == 0) Push(EventKind::kOutOfMemory, kUnknownBytes, 7);  // something between request and completion
      Push(EventKind::kFreeCompleted, addr, size_bytes);
    } else {
      const uint64_t size_bytes = 1 + Below(options_.largest_bytes);  // a block that no event made
      Push(EventKind::kFreeCompleted, next_addr_, size_bytes);
      next_addr_ += (size_bytes + 511) / 512 * 512;
    }
  }

  TestHeapOptions options_;
  std::mt19937 random_;
  StoreBuilder builder_;
  std::vector<std::pair<uint64_t, uint64_t>> live_;
  uint64_t next_addr_ = 0x7f0000000000;
  int64_t time_ns_ = 1000;
  uint32_t count_ = 0;
};

inline Store MakeTestHeap(const TestHeapOptions& options) { return TestHeapMaker(options).Make(); }

}  // namespace memstrata
