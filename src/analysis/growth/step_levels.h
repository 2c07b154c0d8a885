#pragma once
// What is live between the steps of a program.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace memstrata {

struct HeapAnalysis;

/// The first step makes states and fills caches: growth is looked for after it.
inline constexpr size_t kFirstSteadyStep = 1;

/// Live blocks at the start of each step and at the end of the last, in blocks of the allocator; a block counts until
/// the program gives it back.
struct StepLevels {
  std::vector<uint64_t> live_bytes;
  /// Without what each step hands to the next one, which replaces it: the batch, the output, the loss. A line hands on
  /// when its blocks live across equally many starts of steps, and none of them stays longer. Without workspaces too,
  /// which a library takes with its first call and keeps.
  std::vector<uint64_t> kept_bytes;
};

/// cost: O(allocations + steps)
StepLevels FindStepLevels(const HeapAnalysis& analysis);

/// What the forwards of each step allocate in all and is given back within the step: it grows with the shapes of the
/// step's tensors. cost: O(allocations + steps)
std::vector<uint64_t> FindForwardBytes(const HeapAnalysis& analysis);

}  // namespace memstrata
