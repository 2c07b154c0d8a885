#include "analysis/program_memory/heap_simulation.h"

#include <gtest/gtest.h>

namespace memstrata {
namespace {

constexpr uint64_t kHalfMib = uint64_t{1} << 19;

// A program with one allocation of temporaries that holds `sizes.size()` buffers, ids from 1.
Program MakeProgram(const std::vector<uint64_t>& sizes) {
  Program program;
  program.label = "jit_f(1)";
  ProgramAllocation temporaries{.index = 0};
  for (size_t i = 0; i < sizes.size(); ++i) {
    program.buffers.push_back(
        {.id = static_cast<int64_t>(i + 1), .size_bytes = sizes[i], .unpadded_bytes = 8, .shape = StringId{0}});
    temporaries.assigned.push_back({static_cast<uint32_t>(i), 0, sizes[i]});
    temporaries.size_bytes += sizes[i];
  }
  ProgramAllocation constant{.index = 1, .size_bytes = 2 * kHalfMib, .is_constant = true};
  program.allocations = {temporaries, constant};
  program.traces.emplace_back();
  return program;
}

void Alloc(Program& program, int64_t id) {
  program.traces[0].events.push_back({ProgramHeapEvent::kAlloc, id, 0, StringId{0}});
}
void Free(Program& program, int64_t id) {
  program.traces[0].events.push_back({ProgramHeapEvent::kFree, id, 0, StringId{0}});
}
void Share(Program& program, int64_t id, int64_t with) {
  program.traces[0].events.push_back({ProgramHeapEvent::kShare, id, with, StringId{0}});
}

TEST(HeapSimulationTest, SharedMemoryIsFreeWhenItsLastUserIs) {
  Program program = MakeProgram({kHalfMib, kHalfMib});
  Alloc(program, 1);
  Share(program, 2, 1);
  Free(program, 1);
  Free(program, 2);
  const Result<HeapSimulation> result = SimulateHeap(program, 0);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->heap_bytes, (std::vector<uint64_t>{0, kHalfMib, kHalfMib, kHalfMib, 0}));
  EXPECT_EQ(result->peak_bytes, kHalfMib);
  EXPECT_EQ(result->peak_unpadded_bytes, 8u);
  EXPECT_EQ(result->indefinite_bytes, 2 * kHalfMib);
  ASSERT_EQ(result->spans.size(), 1u);
  EXPECT_EQ(result->spans[0].end, 3u);
}

TEST(HeapSimulationTest, FreedMemoryIsTakenOverUnderTheNewName) {
  Program program = MakeProgram({kHalfMib, kHalfMib, kHalfMib});
  Alloc(program, 1);
  Share(program, 2, 1);
  Free(program, 1);
  Free(program, 2);
  Share(program, 3, 2);
  Free(program, 3);
  const Result<HeapSimulation> result = SimulateHeap(program, 0);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->peak_bytes, kHalfMib);
  EXPECT_EQ(result->heap_bytes[5], kHalfMib);
  ASSERT_EQ(result->spans.size(), 2u);
  EXPECT_EQ(program.buffers[result->spans[1].buffer].id, 3);
  EXPECT_EQ(result->spans[1].begin, 4u);
}

TEST(HeapSimulationTest, NamesThePeakByTheTakeOver) {
  Program program = MakeProgram({kHalfMib / 2, kHalfMib / 2, kHalfMib / 2, kHalfMib});
  Alloc(program, 1);
  Share(program, 2, 1);
  Free(program, 1);
  Free(program, 2);
  Alloc(program, 4);
  Share(program, 3, 2);
  Free(program, 3);
  Free(program, 4);
  const Result<HeapSimulation> result = SimulateHeap(program, 0);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->peak_bytes, kHalfMib / 2 * 3);
  EXPECT_EQ(result->peak_position, 5u);
  ASSERT_EQ(result->peak_buffers.size(), 2u);
  EXPECT_EQ(program.buffers[result->peak_buffers[0]].id, 4);
  EXPECT_EQ(program.buffers[result->peak_buffers[1]].id, 3);
}

TEST(HeapSimulationTest, RefusesTracesThatContradictThemselves) {
  Program twice = MakeProgram({kHalfMib});
  Alloc(twice, 1);
  Free(twice, 1);
  Free(twice, 1);
  EXPECT_FALSE(SimulateHeap(twice, 0));

  Program unknown_share = MakeProgram({kHalfMib, kHalfMib});
  Share(unknown_share, 2, 1);
  EXPECT_FALSE(SimulateHeap(unknown_share, 0));

  Program two_allocations = MakeProgram({kHalfMib, kHalfMib});
  two_allocations.allocations.push_back({.index = 2, .size_bytes = kHalfMib});
  two_allocations.allocations[2].assigned = {two_allocations.allocations[0].assigned[1]};
  two_allocations.allocations[0].assigned.pop_back();
  Alloc(two_allocations, 1);
  Alloc(two_allocations, 2);
  EXPECT_FALSE(SimulateHeap(two_allocations, 0));
}

TEST(HeapSimulationTest, WithoutATraceThereIsNoTimeline) {
  Program program = MakeProgram({kHalfMib});
  program.traces.clear();
  const Result<HeapSimulation> result = SimulateHeap(program, 0);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->has_trace);
  EXPECT_EQ(result->indefinite_bytes, 2 * kHalfMib);
}

}  // namespace
}  // namespace memstrata
