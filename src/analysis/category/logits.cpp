#include "analysis/category/logits.h"

#include <algorithm>

namespace memstrata {
namespace {

// Below this a block at the end of the forward is not worth a name of its own.
constexpr uint64_t kSmallestBytes = 1 << 20;

bool IsForward(Phase phase) { return phase == Phase::kForward || phase == Phase::kLoss; }
bool IsBackward(Phase phase) { return phase == Phase::kBackward || phase == Phase::kRecompute; }

/// A forward and the backward of it.
struct Pass {
  uint32_t forward_begin = 0;
  uint32_t forward_end = 0;
  uint32_t backward_begin = 0;
  uint32_t backward_end = 0;

  /// From here on a forward computes its loss.
  uint32_t late_begin() const { return forward_end - (forward_end - forward_begin) / 10; }
  /// Until here a backward is in the loss.
  uint32_t early_end() const {
    return std::min(backward_end, backward_begin + (backward_end - backward_begin) / 20 + 8);
  }
};

// A backward belongs to the last forward before it.
std::vector<Pass> FindPasses(const Timeline& timeline) {
  std::vector<Pass> passes;
  Pass pass;
  bool in_forward = false;
  bool in_backward = false;
  for (const PhaseSpan& span : timeline.phases) {
    if (IsForward(span.phase)) {
      if (!in_forward) pass = {span.begin_seq, span.end_seq, 0, 0};
      pass.forward_end = span.end_seq;
      in_forward = true;
      in_backward = false;
    } else if (IsBackward(span.phase) && in_forward) {
      pass.backward_begin = span.begin_seq;
      pass.backward_end = span.end_seq;
      passes.push_back(pass);
      in_forward = false;
      in_backward = true;
    } else if (IsBackward(span.phase) && in_backward) {
      passes.back().backward_end = span.end_seq;
    } else if (span.phase == Phase::kOptimizer) {
      in_forward = in_backward = false;
    }
  }
  return passes;
}

class LogitsMarker {
 public:
  LogitsMarker(const Store& store, const Heap& heap, const Timeline& timeline, const std::vector<Category>& by_stack,
               std::vector<Category>& categories)
      : store_(store), heap_(heap), timeline_(timeline), by_stack_(by_stack), categories_(categories) {}

  void MarkNamed() {
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      const uint32_t seq = store_.allocations.alloc_seq[row];
      const bool is_named = by_stack_[store_.allocations.stack[row].value] == Category::kLogits;
      if (seq != kNone && is_named && IsForward(timeline_.phase_of_event[seq])) Mark(row);
    }
  }

  void MarkBySize(const Pass& pass) {
    const uint64_t largest = LargestAlloc(pass.late_begin(), pass.forward_end);
    const bool comes_back = largest >= kSmallestBytes && HasAlloc(pass.backward_begin, pass.early_end(), largest);
    // What the layers make too is no logits.
    if (!comes_back || HasAlloc(pass.forward_begin, pass.late_begin(), largest)) return;
    MarkSizes(pass.late_begin(), pass.forward_end, largest);
    MarkSizes(pass.backward_begin, pass.early_end(), largest);
  }

 private:
  // The allocation that an event makes; kNone for other events.
  uint32_t Made(uint32_t seq) const {
    const uint32_t row = heap_.events.begin + seq;
    return store_.events.kind[row] == EventKind::kAlloc ? store_.events.allocation[row] : kNone;
  }

  uint64_t LargestAlloc(uint32_t begin, uint32_t end) const {
    uint64_t largest = 0;
    for (uint32_t seq = begin; seq < end; ++seq) {
      if (Made(seq) != kNone) largest = std::max(largest, store_.allocations.size_bytes[Made(seq)]);
    }
    return largest;
  }

  bool HasAlloc(uint32_t begin, uint32_t end, uint64_t size_bytes) const {
    for (uint32_t seq = begin; seq < end; ++seq) {
      if (Made(seq) != kNone && store_.allocations.size_bytes[Made(seq)] == size_bytes) return true;
    }
    return false;
  }

  void MarkSizes(uint32_t begin, uint32_t end, uint64_t size_bytes) {
    for (uint32_t seq = begin; seq < end; ++seq) {
      const uint32_t row = Made(seq);
      if (row == kNone) continue;
      const uint64_t size = store_.allocations.size_bytes[row];
      if (size == size_bytes || size * 2 == size_bytes) Mark(row);
    }
  }

  void Mark(uint32_t row) {
    Category& category = categories_[row - heap_.allocations.begin];
    const bool may_be = category == Category::kActivation || category == Category::kTemporary;
    if (may_be && store_.allocations.size_bytes[row] >= kSmallestBytes) category = Category::kLogits;
  }

  const Store& store_;
  const Heap& heap_;
  const Timeline& timeline_;
  const std::vector<Category>& by_stack_;
  std::vector<Category>& categories_;
};

}  // namespace

void MarkLogits(const Store& store, const Heap& heap, const Timeline& timeline, const std::vector<Category>& by_stack,
                std::vector<Category>& categories) {
  LogitsMarker marker(store, heap, timeline, by_stack, categories);
  marker.MarkNamed();
  for (const Pass& pass : FindPasses(timeline)) marker.MarkBySize(pass);
}

}  // namespace memstrata
