#include "analysis/phases/alternating_steps.h"

#include <algorithm>

#include "analysis/phases/order_events.h"

namespace memstrata {
namespace {

// Sums of the sizes, mixed, of the gradients that each step makes; their order does not matter.
std::vector<uint64_t> GradientsOfSteps(const Store& store, const Heap& heap, const std::vector<Phase>& phases,
                                       const std::vector<uint32_t>& begins) {
  std::vector<uint64_t> sums(begins.size(), 0);
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    const uint32_t seq = store.allocations.alloc_seq[row];
    const uint32_t free_seq = store.allocations.free_requested_seq[row];
    const uint64_t size_bytes = store.allocations.size_bytes[row];
    if (seq == kNone || seq < begins[0] || phases[seq] != Phase::kBackward || size_bytes <= kScalarBytes) continue;
    if (free_seq != kNone && IsBackward(phases[free_seq])) continue;
    const auto after = std::upper_bound(begins.begin(), begins.end(), seq);
    sums[static_cast<size_t>(after - begins.begin()) - 1] += size_bytes * size_bytes;
  }
  return sums;
}

// From the second turn on every turn is as the one before; the first may make what later ones find. The last may be
// cut off.
bool HasPeriod(const std::vector<uint64_t>& values, size_t period) {
  for (size_t i = 2 * period; i + 1 < values.size(); ++i) {
    if (values[i] != values[i - period]) return false;
  }
  const auto turn = values.begin() + static_cast<ptrdiff_t>(period);
  return std::any_of(turn + 1, turn + static_cast<ptrdiff_t>(period), [&](uint64_t value) { return value != *turn; });
}

}  // namespace

std::vector<uint32_t> JoinAlternatingSteps(const Store& store, const Heap& heap, const std::vector<Phase>& phases,
                                           const std::vector<uint32_t>& begins) {
  constexpr size_t kLongestTurn = 16;
  constexpr size_t kFewestTurns = 3;
  if (begins.size() < 2 * kFewestTurns) return begins;
  const std::vector<uint64_t> gradients = GradientsOfSteps(store, heap, phases, begins);
  for (size_t period = 2; period <= kLongestTurn && period * kFewestTurns <= begins.size(); ++period) {
    if (!HasPeriod(gradients, period)) continue;
    std::vector<uint32_t> joined;
    for (size_t i = 0; i < begins.size(); i += period) joined.push_back(begins[i]);
    return joined;
  }
  return begins;
}

}  // namespace memstrata
