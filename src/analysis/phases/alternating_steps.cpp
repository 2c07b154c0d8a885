#include "analysis/phases/alternating_steps.h"

#include <algorithm>

#include "analysis/phases/gradient_sizes.h"
#include "analysis/phases/order_events.h"
#include "base/flat_map.h"

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

// The stack of what each step's update does first; 0 where none is known.
std::vector<uint64_t> StacksOfUpdates(const Store& store, const Heap& heap, const std::vector<Phase>& phases,
                                      const std::vector<uint32_t>& begins) {
  std::vector<uint64_t> stacks(begins.size(), 0);
  size_t step = 0;
  for (uint32_t seq = begins[0]; seq < phases.size(); ++seq) {
    if (step + 1 < begins.size() && seq >= begins[step + 1]) ++step;
    const bool is_first = stacks[step] == 0 && phases[seq] == Phase::kOptimizer;
    if (is_first) stacks[step] = store.events.stack[heap.events.begin + seq].value;
  }
  return stacks;
}

// How many blocks in sizes of gradients each step's update makes.
std::vector<uint64_t> CountsOfUpdates(const Store& store, const Heap& heap, const std::vector<Phase>& phases,
                                      const std::vector<uint32_t>& begins) {
  const FlatMap<uint64_t, bool> gradient_sizes = FindGradientSizes(store, heap, phases, begins[0]);
  std::vector<uint64_t> counts(begins.size(), 0);
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    const uint32_t seq = store.allocations.alloc_seq[row];
    if (seq == kNone || seq < begins[0] || phases[seq] != Phase::kOptimizer) continue;
    const auto after = std::upper_bound(begins.begin(), begins.end(), seq);
    const bool is_like_gradient = gradient_sizes.contains(store.allocations.size_bytes[row]);
    counts[static_cast<size_t>(after - begins.begin()) - 1] += is_like_gradient ? 1 : 0;
  }
  return counts;
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

// The same where a few steps are unlike, as one whose begin is not seen; steps that are mostly of one kind take no
// turns.
bool MostlyHasPeriod(const std::vector<uint64_t>& values, size_t period) {
  constexpr size_t kPartUnlike = 8;
  const auto is_alike = [&](size_t distance) {
    size_t unlike = 0;
    for (size_t i = 2 * period; i + 1 < values.size(); ++i) unlike += values[i] != values[i - distance] ? 1 : 0;
    return unlike * kPartUnlike <= values.size() - 1 - 2 * period;
  };
  return is_alike(period) && !is_alike(1);
}

// From the second turn on, of every two updates one makes much more than the other, and always about as much.
bool TakeTurns(const std::vector<uint64_t>& counts) {
  constexpr uint64_t kFewest = 3;
  constexpr uint64_t kPartOfDifference = 4;
  const auto is_about = [](uint64_t count, uint64_t usual) {
    return std::max(count, usual) - std::min(count, usual) <= 2 + usual / 16;
  };
  for (size_t i = 2; i + 1 < counts.size(); ++i) {
    if (!is_about(counts[i], counts[2 + i % 2])) return false;
  }
  const uint64_t more = std::max(counts[2], counts[3]);
  const uint64_t difference = more - std::min(counts[2], counts[3]);
  return difference >= kFewest && difference * kPartOfDifference >= more;
}

}  // namespace

std::vector<uint32_t> JoinAlternatingSteps(const Store& store, const Heap& heap, const std::vector<Phase>& phases,
                                           const std::vector<uint32_t>& begins) {
  constexpr size_t kLongestTurn = 16;
  constexpr size_t kFewestTurns = 3;
  if (begins.size() < 2 * kFewestTurns) return begins;
  const auto join = [&](size_t period) {
    std::vector<uint32_t> joined;
    for (size_t i = 0; i < begins.size(); i += period) joined.push_back(begins[i]);
    return joined;
  };
  const std::vector<uint64_t> gradients = GradientsOfSteps(store, heap, phases, begins);
  for (const auto has_period : {HasPeriod, MostlyHasPeriod}) {
    for (size_t period = 2; period <= kLongestTurn && period * kFewestTurns <= begins.size(); ++period) {
      if (has_period(gradients, period)) return join(period);
    }
  }
  // Sharpness-aware minimisation goes to a worse point and back; both ways have a backward and an update.
  const std::vector<uint64_t> stacks = StacksOfUpdates(store, heap, phases, begins);
  if (std::count(stacks.begin(), stacks.end() - 1, 0) == 0) return HasPeriod(stacks, 2) ? join(2) : begins;
  return TakeTurns(CountsOfUpdates(store, heap, phases, begins)) ? join(2) : begins;
}

}  // namespace memstrata
