#include "analysis/phases/own_update.h"

#include <algorithm>

#include "analysis/phases/batch_inputs.h"
#include "analysis/phases/gradient_sizes.h"
#include "analysis/phases/label_by_order.h"
#include "analysis/phases/order_events.h"
#include "base/flat_map.h"

namespace memstrata {
namespace {

bool Has(const std::vector<Phase>& phases, Phase phase) {
  return std::find(phases.begin(), phases.end(), phase) != phases.end();
}

// Updates make blocks of the sizes of the gradients; other work between the steps does not.
bool MakeGradientSizes(const Store& store, const Heap& heap, const std::vector<Phase>& phases,
                       const std::vector<uint32_t>& of_updates) {
  const FlatMap<uint64_t, bool> gradient_sizes = FindGradientSizes(store, heap, phases);
  size_t large_count = 0;
  size_t gradient_like_count = 0;
  for (const uint32_t seq : of_updates) {
    const uint32_t row = heap.events.begin + seq;
    const uint64_t size_bytes = store.events.size_bytes[row];
    if (store.events.kind[row] != EventKind::kAlloc || size_bytes <= kScalarBytes) continue;
    ++large_count;
    gradient_like_count += gradient_sizes.contains(size_bytes) ? 1 : 0;
  }
  return large_count > 0 && gradient_like_count * 2 >= large_count;
}

/// Events of plain work of the program between a backward and the next forward or backward.
using OwnWork = std::vector<uint32_t>;

std::vector<OwnWork> FindOwnWork(const StackLabels& labels) {
  std::vector<OwnWork> works;
  bool is_after_backward = false;
  bool is_new = true;
  for (uint32_t seq = 0; seq < labels.phase.size(); ++seq) {
    const Phase phase = labels.phase[seq];
    if (phase == Phase::kBackward || IsForward(phase)) {
      is_after_backward = phase == Phase::kBackward;
      is_new = true;
    }
    const bool is_own_work = labels.is_plain[seq] && (phase == Phase::kOther || phase == Phase::kInput);
    if (!is_after_backward || !is_own_work) continue;
    if (is_new) works.emplace_back();
    is_new = false;
    works.back().push_back(seq);
  }
  return works;
}

// By stack: how often its own work is, by the order of all events, of an update rather than before a forward. What is
// mostly before one makes the next batch.
FlatMap<uint32_t, int64_t> VotesForUpdate(const Store& store, const Heap& heap, const std::vector<OwnWork>& works,
                                          const std::vector<Phase>& by_order) {
  FlatMap<uint32_t, int64_t> votes;
  for (const OwnWork& work : works) {
    for (const uint32_t seq : work) {
      int64_t& of_stack = votes[store.events.stack[heap.events.begin + seq].value];
      if (IsUpdate(by_order[seq])) ++of_stack;
      if (by_order[seq] == Phase::kInput || IsForward(by_order[seq])) --of_stack;
    }
  }
  return votes;
}

// Whether some of the work lies where blocks are given back in a row, as dropped gradients are.
bool MayDropGradients(const Store& store, const Heap& heap, const std::vector<OwnWork>& works) {
  const auto end_of_row = [&](uint32_t seq, int direction) {  // the first event on the way that makes a block
    uint32_t row = heap.events.begin + seq;
    while (row >= heap.events.begin && row < heap.events.end && store.events.kind[row] != EventKind::kAlloc)
      row += static_cast<uint32_t>(direction);
    return row;
  };
  uint32_t seen_until = 0;  // in rows
  for (const OwnWork& work : works) {
    for (const uint32_t seq : work) {
      if (heap.events.begin + seq < seen_until) continue;
      seen_until = end_of_row(seq, 1);
      uint32_t dropped = 0;
      for (uint32_t row = end_of_row(seq, -1) + 1; row < seen_until; ++row)
        dropped += store.events.kind[row] == EventKind::kFreeRequested ? 1 : 0;
      if (dropped >= kFewestDropped) return true;
    }
  }
  return false;
}

}  // namespace

void NameOwnUpdates(const Store& store, const Heap& heap, StackLabels& labels) {
  constexpr size_t kFewestAllocs = 3;  // fewer are something else that a program does now and then
  const bool lacks_update = !Has(labels.phase, Phase::kOptimizer);
  const bool lacks_zero_grad = !Has(labels.phase, Phase::kZeroGrad);
  if ((!lacks_update && !lacks_zero_grad) || !Has(labels.phase, Phase::kBackward)) return;
  const std::vector<OwnWork> works = FindOwnWork(labels);
  const bool may_update = lacks_update && !works.empty();
  if (!may_update && !MayDropGradients(store, heap, works)) return;  // then the order of all events shows nothing here
  const std::vector<Phase> by_order = LabelByOrder(store, heap);
  const FlatMap<uint32_t, int64_t> votes = VotesForUpdate(store, heap, works, by_order);
  const auto is_mostly_update = [&](uint32_t seq) {
    return votes.find(store.events.stack[heap.events.begin + seq].value)->second >= 0;
  };
  std::vector<uint32_t> of_updates;
  for (const OwnWork& work : works) {
    std::vector<uint32_t> of_update;
    for (const uint32_t seq : work) {
      if (lacks_zero_grad && by_order[seq] == Phase::kZeroGrad) labels.phase[seq] = Phase::kZeroGrad;
      if (lacks_update && by_order[seq] == Phase::kOptimizer && is_mostly_update(seq)) of_update.push_back(seq);
    }
    const auto alloc_count = std::count_if(of_update.begin(), of_update.end(), [&](uint32_t seq) {
      return store.events.kind[heap.events.begin + seq] == EventKind::kAlloc;
    });
    if (static_cast<size_t>(alloc_count) >= kFewestAllocs)
      of_updates.insert(of_updates.end(), of_update.begin(), of_update.end());
  }
  if (!MakeGradientSizes(store, heap, labels.phase, of_updates)) return;
  for (const uint32_t seq : of_updates) labels.phase[seq] = Phase::kOptimizer;
}

}  // namespace memstrata
