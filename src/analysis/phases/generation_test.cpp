#include "analysis/phases/generation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/marks/marks.h"
#include "analysis/phases/timeline.h"
#include "analysis/test_program.h"

namespace memstrata {
namespace {

constexpr int kLayers = 3;
constexpr uint64_t kTokenBytes = 2048;

/// A server without call stacks.
class Server {
 public:
  Server() {
    for (int layer = 0; layer < 4 * kLayers; ++layer) program_.Alloc(1 << 20, {});
  }

  // The first call computes the prompt into blocks that are larger than the cache; later ones write the cache anew.
  void Serve(uint64_t prompt_tokens, int new_tokens) {
    std::vector<uint32_t> cache;
    begins.push_back({});
    for (int call = 0; call <= new_tokens; ++call) {
      const uint64_t tokens = prompt_tokens + static_cast<uint64_t>(call);
      begins.back().push_back(program_.event_count());
      const uint32_t hidden = program_.Alloc(call == 0 ? prompt_tokens * 4096 : 4096, {});
      for (size_t layer = 0; layer < kLayers; ++layer) {
        program_.Free(program_.Alloc(call == 0 ? prompt_tokens * 8192 : 8192, {}), {});
        if (call == 0) {
          cache.push_back(program_.Alloc(prompt_tokens * 3 * kTokenBytes, {}));
          continue;
        }
        if (call == 1) cache.insert(cache.begin() + static_cast<ptrdiff_t>(2 * layer), kNone);
        uint32_t& keys = cache[2 * layer];
        uint32_t& values = cache[2 * layer + 1];
        const uint32_t new_keys = program_.Alloc(tokens * kTokenBytes, {});
        const uint32_t new_values = program_.Alloc(tokens * kTokenBytes, {});
        if (keys != kNone) program_.Free(keys, {});
        program_.Free(values, {});
        keys = new_keys;
        values = new_values;
      }
      program_.Free(program_.Alloc(64'000, {}), {});  // logits
      program_.Free(hidden, {});
    }
    for (const uint32_t block : cache) program_.Free(block, {});
  }

  Store Finish() { return program_.Finish(); }

  std::vector<std::vector<uint32_t>> begins;  // of the calls of each request

 private:
  TestProgram program_{false};
};

TEST(Generation, CallsOfEachRequestAreKnownByItsCaches) {
  Server server;
  server.Serve(40, 6);
  server.Serve(100, 9);
  server.Serve(64, 3);
  const Store store = server.Finish();
  std::vector<Phase> phases(store.events.size(), Phase::kEval);
  std::fill(phases.begin(), phases.begin() + server.begins[0][0], Phase::kLoad);
  const std::vector<GenerationRequest> requests = FindGenerations(store, store.heaps[0], phases);
  ASSERT_EQ(requests.size(), server.begins.size());
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(requests[i].call_begins, server.begins[i]) << i;
}

TEST(Generation, RequestsAreStepsOfPrefillAndDecodes) {
  Server server;
  server.Serve(40, 6);
  server.Serve(100, 9);
  const Store store = server.Finish();
  const Timeline timeline = FindTimeline(store, store.heaps[0]);
  ASSERT_EQ(timeline.steps.size(), 2U);
  for (size_t i = 0; i < server.begins.size(); ++i) {
    EXPECT_EQ(timeline.steps[i].begin_seq, server.begins[i][0]);
    EXPECT_EQ(timeline.phase_of_event[server.begins[i][0]], Phase::kPrefill);
    EXPECT_EQ(timeline.phase_of_event[server.begins[i][1] - 1], Phase::kPrefill);
    EXPECT_EQ(timeline.phase_of_event[server.begins[i][1]], Phase::kDecode);
  }
}

TEST(Generation, OfOneRequestTheCallsAreSteps) {
  Server server;
  server.Serve(40, 12);
  const Store store = server.Finish();
  EXPECT_EQ(FindTimeline(store, store.heaps[0]).steps.size(), 13U);
}

TEST(Generation, TheCacheOfOneRequestIsAMark) {
  Server server;
  server.Serve(40, 12);
  const Store store = server.Finish();
  const Marks marks = FindMarks(AnalyseHeap(store, store.heaps[0]));
  const auto growth = std::find_if(marks.marks.begin(), marks.marks.end(),
                                   [](const Mark& mark) { return mark.kind == MarkKind::kCacheGrowth; });
  ASSERT_NE(growth, marks.marks.end());
  EXPECT_EQ(growth->bytes, 2 * kLayers * kTokenBytes);
  EXPECT_EQ(growth->text, "The cache grows by 12.0 KiB a step");
}

// A loop that computes the whole text again for each token: its ids and its scores grow, each by a part of its own.
TEST(Generation, ATextThatIsComputedAgainHasNoCache) {
  TestProgram program(false);
  uint32_t ids = program.Alloc(40 * 1024, {});
  uint32_t scores = kNone;
  for (uint64_t tokens = 40; tokens < 60; ++tokens) {
    const uint32_t new_scores = program.Alloc(tokens * 64'000, {});
    if (scores != kNone) program.Free(scores, {});
    scores = new_scores;
    const uint32_t longer = program.Alloc((tokens + 1) * 1024, {});
    program.Free(ids, {});
    ids = longer;
  }
  const Store store = program.Finish();
  const std::vector<Phase> phases(store.events.size(), Phase::kEval);
  EXPECT_TRUE(FindGenerations(store, store.heaps[0], phases).empty());
}

TEST(Generation, AModelWithoutACacheGeneratesNothing) {
  TestProgram program(false);
  for (int call = 0; call < 8; ++call) program.Free(program.Alloc((1 << 20) + call * 4096, {}), {});
  const Store store = program.Finish();
  const std::vector<Phase> phases(store.events.size(), Phase::kEval);
  EXPECT_TRUE(FindGenerations(store, store.heaps[0], phases).empty());
}

}  // namespace
}  // namespace memstrata
