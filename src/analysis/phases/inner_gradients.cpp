#include "analysis/phases/inner_gradients.h"

#include <algorithm>

namespace memstrata {
namespace {

// Fewer blocks are results, which any later backward may give back.
constexpr uint32_t kFewestGivenBack = 3;

/// A call of the autograd engine from the program, known by the gradient that it starts with.
struct EngineCall {
  uint32_t begin_seq = 0;
  bool is_grad = false;  // torch.autograd.grad, not backward
};

/// By stack: bits of what PyTorch's functions in it are.
enum CallMark : uint8_t { kStartsEngine = 1, kIsGrad = 2 };

std::vector<uint8_t> MarkStacks(const Store& store) {
  const StackTable& stacks = store.stacks.stacks();
  const FrameTable& frames = store.stacks.frames();
  std::vector<uint8_t> marks(stacks.size(), 0);
  for (uint32_t node = 1; node < stacks.size(); ++node) {  // parents come first
    const uint32_t frame = stacks.frame[node].value;
    const std::string_view function = store.String(frames.function[frame]);
    marks[node] = marks[stacks.parent[node].value];
    if (function != "grad" && function != "_make_grads") continue;
    if (!store.String(frames.file[frame]).ends_with("torch/autograd/__init__.py")) continue;
    marks[node] |= function == "grad" ? kIsGrad : kStartsEngine;
  }
  return marks;
}

std::vector<EngineCall> FindCalls(const Store& store, const Heap& heap) {
  const std::vector<uint8_t> marks = MarkStacks(store);
  std::vector<EngineCall> calls;
  for (uint32_t seq = 0; seq < heap.events.size(); ++seq) {
    const uint32_t row = heap.events.begin + seq;
    const uint8_t mark = marks[store.events.stack[row].value];
    if (store.events.kind[row] == EventKind::kAlloc && (mark & kStartsEngine) != 0)
      calls.push_back({seq, (mark & kIsGrad) != 0});
  }
  return calls;
}

}  // namespace

void MarkInnerGradients(const Store& store, const Heap& heap, StackLabels& labels) {
  const std::vector<EngineCall> calls = FindCalls(store, heap);
  for (size_t i = 0; i + 1 < calls.size(); ++i) {
    const uint32_t begin = calls[i].begin_seq;
    const uint32_t next = calls[i + 1].begin_seq;
    if (!calls[i].is_grad || std::any_of(labels.phase.begin() + begin, labels.phase.begin() + next, IsUpdate)) continue;
    const uint32_t latest = i + 2 < calls.size() ? calls[i + 2].begin_seq : heap.events.size();
    uint32_t given_back = 0;
    for (uint32_t seq = next; seq < latest && IsBackward(labels.phase[seq]); ++seq) {
      const uint32_t row = heap.events.begin + seq;
      const uint32_t allocation = store.events.allocation[row];
      if (store.events.kind[row] != EventKind::kFreeRequested || allocation == kNone) continue;
      const uint32_t made = store.allocations.alloc_seq[allocation];
      if (made != kNone && made >= begin && made < next && IsBackward(labels.phase[made])) ++given_back;
    }
    if (given_back < kFewestGivenBack) continue;
    std::replace_if(labels.phase.begin() + begin, labels.phase.begin() + next, IsBackward, Phase::kLoss);
  }
}

}  // namespace memstrata
