#include "analysis/phases/own_update.h"

#include <algorithm>

#include "analysis/phases/label_by_order.h"

namespace memstrata {
namespace {

bool Has(const std::vector<Phase>& phases, Phase phase) {
  return std::find(phases.begin(), phases.end(), phase) != phases.end();
}

}  // namespace

void NameOwnUpdates(const Store& store, const Heap& heap, StackLabels& labels) {
  constexpr uint32_t kFewestAllocs = 3;  // fewer are something else that a program does now and then
  const bool lacks_update = !Has(labels.phase, Phase::kOptimizer);
  const bool lacks_zero_grad = !Has(labels.phase, Phase::kZeroGrad);
  if ((!lacks_update && !lacks_zero_grad) || !Has(labels.phase, Phase::kBackward)) return;
  const std::vector<Phase> by_order = LabelByOrder(store, heap);
  std::vector<uint32_t> of_update;  // since the last backward
  uint32_t alloc_count = 0;         // among them
  bool is_after_backward = false;   // and before the next forward
  const auto name_update = [&] {
    for (const uint32_t seq : of_update) {
      if (alloc_count >= kFewestAllocs) labels.phase[seq] = Phase::kOptimizer;
    }
    of_update.clear();
    alloc_count = 0;
  };
  for (uint32_t seq = 0; seq < labels.phase.size(); ++seq) {
    Phase& phase = labels.phase[seq];
    if (phase == Phase::kBackward || phase == Phase::kForward || phase == Phase::kLoss) {
      is_after_backward = phase == Phase::kBackward;
      name_update();
    }
    const bool is_own_work = labels.is_plain[seq] && (phase == Phase::kOther || phase == Phase::kInput);
    if (!is_after_backward || !is_own_work) continue;
    if (lacks_zero_grad && by_order[seq] == Phase::kZeroGrad) phase = Phase::kZeroGrad;
    if (!lacks_update || by_order[seq] != Phase::kOptimizer) continue;
    of_update.push_back(seq);
    alloc_count += store.events.kind[heap.events.begin + seq] == EventKind::kAlloc ? 1 : 0;
  }
  name_update();
}

}  // namespace memstrata
