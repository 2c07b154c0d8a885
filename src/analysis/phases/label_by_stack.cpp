#include "analysis/phases/label_by_stack.h"

#include <algorithm>
#include <optional>

#include "analysis/phases/loop_ends.h"
#include "analysis/phases/order_events.h"

namespace memstrata {
namespace {

using Labels = std::vector<std::optional<Phase>>;

// Segments are given back with the stack that once asked for them.
bool IsOfAllocator(EventKind kind) { return kind == EventKind::kSegmentFree || kind == EventKind::kSegmentUnmap; }

class Labeller {
 public:
  Labeller(const Store& store, const Heap& heap, const PythonCalls& calls, const StackEvidence& evidence,
           std::span<const LoopJump> jumps, std::span<const std::optional<Phase>> named)
      : store_(store),
        heap_(heap),
        calls_(calls),
        evidence_(evidence),
        jumps_(jumps),
        named_(named),
        frees_have_own_stacks_(FreesHaveOwnStacks(store, heap)),
        labels_(heap.events.size()) {}

  StackLabels Run() {
    for (uint32_t seq = 0; seq < labels_.size() && !(has_backward_ && has_forward_); ++seq) NotePhase(FromStack(seq));
    has_backward_ = has_backward_ || (has_forward_ && EngineShowsItself());
    for (uint32_t seq = 0; seq < labels_.size(); ++seq) labels_[seq] = Label(seq);
    StackLabels result;
    result.is_plain.resize(labels_.size());
    for (uint32_t seq = 0; seq < labels_.size(); ++seq) result.is_plain[seq] = !labels_[seq];
    if (frees_have_own_stacks_) ClearLateFrees();
    FillNeutralRuns();
    result.phase.resize(labels_.size());
    for (uint32_t seq = 0; seq < labels_.size(); ++seq) result.phase[seq] = labels_[seq].value_or(Phase::kOther);
    return result;
  }

 private:
  uint32_t Row(uint32_t seq) const { return heap_.events.begin + seq; }
  bool IsSilent(uint32_t seq) const {
    const EventKind kind = store_.events.kind[Row(seq)];
    if (IsOfAllocator(kind)) return true;
    return store_.events.stack[Row(seq)].value == 0 || (IsFree(kind) && !frees_have_own_stacks_);
  }

  // What the event's own stack names.
  std::optional<Phase> FromStack(uint32_t seq) const {
    if (IsSilent(seq)) return std::nullopt;
    const uint32_t stack = store_.events.stack[Row(seq)].value;
    const std::optional<Phase> phase = evidence_.phase[stack];
    if (evidence_.is_engine_thread[stack] && phase != Phase::kRecompute) return Phase::kBackward;
    return phase;
  }

  void NotePhase(std::optional<Phase> phase) {
    has_backward_ = has_backward_ || phase == Phase::kBackward;
    has_forward_ = has_forward_ || (phase && IsForward(*phase));
  }

  // A backward that starts with a gradient of the program's own leaves no frame of PyTorch. The engine's threads show
  // by what they do: without stacks they make blocks and give back what stacks made, an older block each time.
  bool EngineShowsItself() const {
    constexpr uint32_t kFewestRuns = 8;
    uint32_t run_count = 0;  // of frees between allocations without stacks
    uint32_t fall_count = 0;
    uint32_t oldest_seq = kNone;  // given back in the run at hand
    uint32_t last_oldest_seq = 0;
    bool is_engine = false;
    for (uint32_t seq = 0; seq < labels_.size(); ++seq) {
      const EventKind kind = store_.events.kind[Row(seq)];
      if (kind == EventKind::kAlloc) {
        if (oldest_seq != kNone) {
          ++run_count;
          fall_count += oldest_seq < last_oldest_seq ? 1 : 0;
          last_oldest_seq = oldest_seq;
        }
        oldest_seq = kNone;
        is_engine = store_.events.stack[Row(seq)].value == 0;
      }
      if (kind == EventKind::kFreeRequested && is_engine && IsSilent(seq))
        oldest_seq = std::min(oldest_seq, MadeAt(seq));
    }
    return run_count >= kFewestRuns && fall_count * 10 >= run_count * 6;
  }

  // When the block that an event gives back was made, if a stack says by what; else kNone.
  uint32_t MadeAt(uint32_t seq) const {
    const uint32_t allocation = store_.events.allocation[Row(seq)];
    const bool has_stack = allocation != kNone && store_.allocations.stack[allocation].value != 0;
    return has_stack ? store_.allocations.alloc_seq[allocation] : kNone;
  }

  std::optional<Phase> PhaseOfAllocation(uint32_t seq) const {
    const uint32_t allocation = store_.events.allocation[Row(seq)];
    if (allocation == kNone || store_.allocations.alloc_seq[allocation] == kNone) return std::nullopt;
    return labels_[store_.allocations.alloc_seq[allocation]];
  }

  std::optional<Phase> Label(uint32_t seq) {
    if (!IsSilent(seq)) {
      std::optional<Phase> phase = FromStack(seq);
      // PyTorch's own range around an update covers the closure too.
      const bool is_around =
          evidence_.is_in_closure[store_.events.stack[Row(seq)].value] && named_[seq] == Phase::kOptimizer;
      if (!phase && !is_around) phase = named_[seq];
      if (phase) current_ = phase;
      return phase;
    }
    const EventKind kind = store_.events.kind[Row(seq)];
    if (IsFree(kind)) return LabelSilentFree(seq);
    if (IsOfAllocator(kind)) return current_;
    if (!has_backward_) return current_;
    current_ = Phase::kBackward;  // the autograd engine's threads run without Python frames
    return current_;
  }

  std::optional<Phase> LabelSilentFree(uint32_t seq) {
    const std::optional<Phase> made_in = PhaseOfAllocation(seq);
    if (current_ == Phase::kRecompute)
      return made_in == Phase::kRecompute && !frees_have_own_stacks_ ? Phase::kRecompute : Phase::kBackward;
    const bool after_update = current_ == Phase::kOptimizer || current_ == Phase::kClip || current_ == Phase::kZeroGrad;
    if (!frees_have_own_stacks_ && after_update && made_in == Phase::kBackward) current_ = Phase::kZeroGrad;
    const bool engine_started =
        frees_have_own_stacks_ && has_backward_ && (current_ == Phase::kForward || current_ == Phase::kLoss);
    if (engine_started) current_ = Phase::kBackward;
    return current_;
  }

  // The engine's threads may give back the last blocks of a backward when the program is already in the next turn of
  // its loop: frees alone, amid work of the program itself since it jumped.
  void ClearLateFrees() {
    uint32_t neutral_begin = 0;  // of the run before
    for (uint32_t begin = 0; begin < labels_.size();) {
      uint32_t end = begin;
      const auto is_late = [&](uint32_t seq) {
        return labels_[seq] == Phase::kBackward && IsSilent(seq) && IsFree(store_.events.kind[Row(seq)]);
      };
      while (end < labels_.size() && is_late(end)) ++end;
      const bool is_amid = begin < end && end < labels_.size() && neutral_begin < begin && !labels_[end];
      if (is_amid && LastJump(neutral_begin, begin) > neutral_begin)
        std::fill(labels_.begin() + begin, labels_.begin() + end, std::nullopt);
      if (begin == end && labels_[begin]) neutral_begin = begin + 1;
      if (begin < end && !is_amid) neutral_begin = end;
      begin = std::max(end, begin + 1);
    }
  }

  void FillNeutralRuns() {
    for (uint32_t begin = 0; begin < labels_.size();) {
      if (labels_[begin]) {
        ++begin;
        continue;
      }
      uint32_t end = begin;
      while (end < labels_.size() && !labels_[end]) ++end;
      FillNeutralRun(begin, end);
      begin = end;
    }
  }

  // Work of the program itself between two phases.
  void FillNeutralRun(uint32_t begin, uint32_t end) {
    const auto fill = [&](uint32_t from, uint32_t to, Phase phase) {
      std::fill(labels_.begin() + from, labels_.begin() + to, phase);
    };
    if (end == labels_.size()) return fill(begin, end, Phase::kOther);
    const Phase next = labels_[end].value_or(Phase::kOther);
    const Phase last = begin == 0 ? Phase::kLoad : labels_[begin - 1].value_or(Phase::kOther);
    const bool in_forward = IsForward(last);
    const bool to_backward = IsBackward(next);
    const bool to_backward_later = next == Phase::kZeroGrad && IsBackward(PhaseAfterZeroGrad(end));
    if (last == Phase::kBackward && to_backward) return fill(begin, end, Phase::kBackward);
    if (in_forward && (to_backward || next == Phase::kLoss)) return fill(begin, end, Phase::kLoss);
    if (in_forward && to_backward_later && FirstAlloc(begin, end) < end) {
      const uint32_t loss_end = last == Phase::kLoss ? EndOfLoss(begin, end) : end;
      fill(begin, loss_end, Phase::kLoss);
      return fill(loss_end, end, Phase::kOther);
    }
    // What comes next gives back what the forward left: no batch is made for it.
    if (in_forward && next == Phase::kForward && !HasAlloc(end, Phase::kForward)) return fill(begin, end, last);
    if (to_backward && !has_forward_) {  // no module is called: the program computes by itself
      const uint32_t forward = AfterLasting(begin, end);
      fill(begin, forward, last == Phase::kLoad ? Phase::kLoad : Phase::kOther);
      return fill(forward, end, Phase::kForward);
    }
    if (next == Phase::kLoad) return fill(begin, end, Phase::kLoad);
    const uint32_t first_alloc = FirstAlloc(begin, end);
    if (first_alloc == end && (in_forward || last == Phase::kClip) && (last == next || next == Phase::kZeroGrad))
      return fill(begin, end, last);
    // Blocks given back at first belong to what was before. A new batch comes after the loop has started over.
    const bool before_forward = next == Phase::kForward || next == Phase::kZeroGrad || next == Phase::kInput;
    const uint32_t input =
        before_forward ? FirstAlloc(last == Phase::kLoad ? LastLine(begin, end) : LastJump(begin, end), end) : end;
    fill(begin, input, last == Phase::kLoad ? Phase::kLoad : Phase::kOther);
    fill(input, end, Phase::kInput);
  }

  uint32_t NodeOf(uint32_t seq) const { return IsSilent(seq) ? 0 : calls_.NodeOf(store_.events.stack[Row(seq)]); }

  // How many callers two events have in common.
  uint16_t CommonDepth(uint32_t a, uint32_t b) const {
    return calls_.stacks().depth[CommonCaller(calls_.stacks(), NodeOf(a), NodeOf(b))];
  }

  // A metric may be computed between the loss and zero_grad: it begins with the first block larger than a loss behind
  // the last one that the backward gives back, or that comes from the line or function which computes the loss.
  uint32_t EndOfLoss(uint32_t begin, uint32_t end) const {
    const uint32_t backward_begin = AfterZeroGrad(end);
    uint32_t backward_end = backward_begin;
    while (backward_end < labels_.size() && labels_[backward_end] && IsBackward(*labels_[backward_end])) ++backward_end;
    uint32_t last_of_loss = begin - 1;
    while (last_of_loss > 0 && labels_[last_of_loss] == Phase::kLoss && IsSilent(last_of_loss)) --last_of_loss;
    const uint16_t depth = CommonDepth(last_of_loss, end);
    uint32_t loss_end = end;
    for (uint32_t seq = end; seq-- > begin;) {
      if (store_.events.kind[Row(seq)] != EventKind::kAlloc || store_.events.size_bytes[Row(seq)] <= kFloatBytes)
        continue;
      const uint32_t allocation = store_.events.allocation[Row(seq)];
      const uint32_t free_seq = allocation == kNone ? kNone : store_.allocations.free_requested_seq[allocation];
      const bool is_given_back = free_seq >= backward_begin && free_seq < backward_end;
      if (is_given_back || CommonDepth(last_of_loss, seq) > depth) break;
      loss_end = seq;
    }
    return loss_end;
  }

  // Whether the run of `phase` that starts at `seq` makes a block.
  bool HasAlloc(uint32_t seq, Phase phase) const {
    while (seq < labels_.size() && labels_[seq] == phase && store_.events.kind[Row(seq)] != EventKind::kAlloc) ++seq;
    return seq < labels_.size() && labels_[seq] == phase;
  }

  uint32_t AfterZeroGrad(uint32_t seq) const {
    while (seq < labels_.size() && labels_[seq] == Phase::kZeroGrad) ++seq;
    return seq;
  }

  Phase PhaseAfterZeroGrad(uint32_t seq) const {
    seq = AfterZeroGrad(seq);
    return seq == labels_.size() ? Phase::kOther : labels_[seq].value_or(Phase::kOther);
  }

  uint32_t FirstAlloc(uint32_t begin, uint32_t end) const {
    while (begin < end && store_.events.kind[Row(begin)] != EventKind::kAlloc) ++begin;
    return begin;
  }

  // Behind the last block that stays: parameters come before the work with them.
  uint32_t AfterLasting(uint32_t begin, uint32_t end) const {
    uint32_t after = begin;
    for (uint32_t seq = begin; seq < end; ++seq) {
      const uint32_t allocation = store_.events.allocation[Row(seq)];
      if (store_.events.kind[Row(seq)] == EventKind::kAlloc && allocation != kNone &&
          store_.allocations.free_requested_seq[allocation] == kNone)
        after = seq + 1;
    }
    return after;
  }

  uint32_t LastJump(uint32_t begin, uint32_t end) const {
    const auto after = std::lower_bound(jumps_.begin(), jumps_.end(), end,
                                        [](const LoopJump& jump, uint32_t seq) { return jump.seq < seq; });
    return after != jumps_.begin() && (after - 1)->seq > begin ? (after - 1)->seq : begin;
  }

  // After the model is loaded come the optimizer, averages and the like, and in the last lines before the forward its
  // input. What stays to the end is no input unless it comes last.
  uint32_t LastLine(uint32_t begin, uint32_t end) const {
    const uint32_t almost_all = heap_.events.size() - heap_.events.size() / 20;
    uint32_t input = begin;
    for (uint32_t seq = begin; seq < end; ++seq) {
      const uint32_t allocation = store_.events.allocation[Row(seq)];
      if (store_.events.kind[Row(seq)] != EventKind::kAlloc || allocation == kNone) continue;
      const bool stays = store_.allocations.free_requested_seq[allocation] >= almost_all;
      if (stays && store_.events.stack[Row(seq)] != store_.events.stack[Row(end - 1)]) input = seq + 1;
    }
    return input;
  }

  const Store& store_;
  const Heap& heap_;
  const PythonCalls& calls_;
  const StackEvidence& evidence_;
  std::span<const LoopJump> jumps_;
  std::span<const std::optional<Phase>> named_;
  const bool frees_have_own_stacks_;
  bool has_backward_ = false;
  bool has_forward_ = false;
  std::optional<Phase> current_;
  Labels labels_;
};

}  // namespace

bool HasEventStacks(const Store& store, const Heap& heap) {
  uint64_t count = 0;
  uint64_t with_stack = 0;
  for (uint32_t row = heap.events.begin; row < heap.events.end; ++row) {
    if (store.events.kind[row] != EventKind::kAlloc) continue;
    ++count;
    with_stack += store.events.stack[row].value != 0 ? 1 : 0;
  }
  return with_stack * 10 > count;  // the backward's allocations have none: half of all in training
}

StackLabels LabelByStack(const Store& store, const Heap& heap, const PythonCalls& calls, const StackEvidence& evidence,
                         std::span<const LoopJump> jumps, std::span<const std::optional<Phase>> named) {
  return Labeller(store, heap, calls, evidence, jumps, named).Run();
}

}  // namespace memstrata
