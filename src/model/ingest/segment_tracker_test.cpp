#include "model/ingest/segment_tracker.h"

#include <gtest/gtest.h>

namespace memstrata {
namespace {

constexpr uint64_t kMib = 1 << 20;

class Trace {
 public:
  Trace& Add(EventKind kind, uint64_t addr, uint64_t size_bytes) {
    EventTable& events = builder_.store().events;
    events.kind.PushBack(kind);
    events.addr.PushBack(addr);
    events.size_bytes.PushBack(size_bytes);
    events.stream.PushBack(builder_.InternStream(0));
    events.stack.PushBack({0});
    events.allocation.PushBack(kNone);
    return *this;
  }
  Trace& Final(uint64_t addr, uint64_t size_bytes) {
    FinalSegmentTable& finals = builder_.store().final_segments;
    finals.addr.PushBack(addr);
    finals.size_bytes.PushBack(size_bytes);
    finals.kind.PushBack(SegmentKind::kLarge);
    finals.stream.PushBack(0);
    finals.pool.PushBack(kNone);
    finals.stack.PushBack({0});
    finals.block_begin.PushBack(0);
    finals.block_end.PushBack(0);
    return *this;
  }
  // Rows as "addr+size begin-end", in MiB.
  std::vector<std::string> Rows() {
    builder_.AddSource({.file = "test"});
    heap_.events = {0, static_cast<uint32_t>(builder_.store().events.size())};
    heap_.final_segments = {0, static_cast<uint32_t>(builder_.store().final_segments.size())};
    SegmentTracker(builder_, heap_).Run(true);
    std::vector<std::string> rows;
    const SegmentTable& table = builder_.store().segments;
    const auto seq = [](uint32_t value) { return value == kNone ? std::string("*") : std::to_string(value); };
    for (uint32_t row = 0; row < table.size(); ++row) {
      rows.push_back(std::to_string(table.addr[row] / kMib) + "+" + std::to_string(table.size_bytes[row] / kMib) + " " +
                     seq(table.begin_seq[row]) + "-" + seq(table.end_seq[row]));
    }
    return rows;
  }
  uint64_t reserved_begin_bytes() const { return heap_.reserved_begin_bytes; }
  std::vector<Diagnostic> diagnostics() { return builder_.diagnostics().Take(); }

 private:
  StoreBuilder builder_;
  Heap heap_;
};

using Rows = std::vector<std::string>;

TEST(SegmentTracker, AllocAndFree) {
  Trace trace;
  trace.Add(EventKind::kSegmentAlloc, 100 * kMib, 20 * kMib).Add(EventKind::kSegmentFree, 100 * kMib, 20 * kMib);
  EXPECT_EQ(trace.Rows(), (Rows{"100+20 0-1"}));
  EXPECT_EQ(trace.reserved_begin_bytes(), 0u);
}

TEST(SegmentTracker, WhatNoEventReservedWasThereBefore) {
  Trace trace;
  trace.Add(EventKind::kSegmentAlloc, 300 * kMib, 20 * kMib).Final(100 * kMib, 40 * kMib).Final(300 * kMib, 20 * kMib);
  EXPECT_EQ(trace.Rows(), (Rows{"300+20 0-*", "100+40 *-*"}));
  EXPECT_EQ(trace.reserved_begin_bytes(), 40 * kMib);
}

TEST(SegmentTracker, AFreeOfAnUnknownSegmentWasThereBefore) {
  Trace trace;
  trace.Add(EventKind::kSegmentFree, 100 * kMib, 20 * kMib);
  EXPECT_EQ(trace.Rows(), (Rows{"100+20 *-0"}));
  EXPECT_EQ(trace.reserved_begin_bytes(), 20 * kMib);
}

TEST(SegmentTracker, AnUnmapMayCutTheMiddle) {
  Trace trace;
  trace.Add(EventKind::kSegmentMap, 100 * kMib, 60 * kMib).Add(EventKind::kSegmentUnmap, 120 * kMib, 20 * kMib);
  trace.Final(100 * kMib, 20 * kMib).Final(140 * kMib, 20 * kMib);
  EXPECT_EQ(trace.Rows(), (Rows{"120+20 0-1", "100+20 0-*", "140+20 0-*"}));
  EXPECT_EQ(trace.reserved_begin_bytes(), 0u);
}

TEST(SegmentTracker, AnUnmapMayTakeSeveralRangesAndWhatWasBefore) {
  Trace trace;
  trace.Add(EventKind::kSegmentMap, 100 * kMib, 20 * kMib).Add(EventKind::kSegmentMap, 140 * kMib, 20 * kMib);
  trace.Add(EventKind::kSegmentUnmap, 100 * kMib, 60 * kMib);
  EXPECT_EQ(trace.Rows(), (Rows{"100+20 0-2", "140+20 1-2", "120+20 *-2"}));
  EXPECT_EQ(trace.reserved_begin_bytes(), 20 * kMib);
}

TEST(SegmentTracker, MoreReservedThanTheFinalStateHoldsIsSaid) {
  Trace trace;
  trace.Add(EventKind::kSegmentAlloc, 100 * kMib, 20 * kMib);
  EXPECT_EQ(trace.Rows().size(), 1u);
  const std::vector<Diagnostic> diagnostics = trace.diagnostics();
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].code, "segments_differ");
}

TEST(SegmentTracker, RangesThatWrapAroundAreIgnored) {
  Trace trace;
  trace.Add(EventKind::kSegmentUnmap, UINT64_MAX - 10, 20 * kMib).Final(UINT64_MAX - 10, 20 * kMib);
  EXPECT_TRUE(trace.Rows().empty());
}

}  // namespace
}  // namespace memstrata
