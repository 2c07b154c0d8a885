#include "analysis/phases/label_by_order.h"

#include <algorithm>

#include "analysis/phases/backward_passes.h"
#include "analysis/phases/batch_inputs.h"
#include "analysis/phases/forward_pattern.h"
#include "analysis/phases/recompute_by_order.h"

namespace memstrata {
namespace {

// Fewer blocks that last are no model.
constexpr uint32_t kFewestLoaded = 4;

class OrderLabeller {
 public:
  OrderLabeller(const Store& store, const Heap& heap)
      : store_(store),
        heap_(heap),
        events_(CollectOrderEvents(store, heap)),
        count_(static_cast<uint32_t>(events_.size())),
        failure_index_(LastFailure()),
        passes_(FindBackwardPasses(events_, failure_index_)),
        gradients_(FindOrderGradients(events_, passes_)),
        phases_(heap.events.size(), Phase::kOther) {}

  std::vector<Phase> Run() {
    if (passes_.empty()) {
      LabelWithoutBackward();
    } else {
      const std::vector<BatchInputs> inputs = FindBatchInputs(events_, passes_, gradients_);
      for (size_t i = 0; i < passes_.size(); ++i) LabelPass(passes_[i], inputs[i]);
      LabelLoad(inputs[0].before_forward);
      FlatMap<uint64_t, uint32_t> known_sizes = gradients_.count_of_size;
      for (uint32_t i = 0; i < inputs[0].begin(); ++i) {
        if (events_[i].IsLargeAlloc() && events_[i].free_index == kNone) ++known_sizes[events_[i].size_bytes];
      }
      const ForwardPattern pattern(events_, passes_, known_sizes);
      const auto after = [&](size_t i) -> IndexRange {
        return {passes_[i].end, i + 1 < passes_.size() ? inputs[i + 1].begin() : count_};
      };
      // A batch may come before the gradients are dropped.
      const auto until_forward = [&](size_t i) -> IndexRange {
        return {passes_[i].end, i + 1 < passes_.size() ? passes_[i + 1].forward_begin : count_};
      };
      for (const BackwardPass& pass : passes_) {
        const uint32_t length = pass.begin - pass.forward_begin;  // 0: its forward lies before another backward
        if (length > 0) shortest_forward_ = std::min(shortest_forward_, length);
      }
      for (size_t i = 0; i < passes_.size(); ++i)
        updates_have_signs_ = updates_have_signs_ || HasSigns(until_forward(i));
      for (size_t i = 0; i < passes_.size(); ++i) LabelUpdate(i, after(i), pattern);
      LabelDrops();
    }
    LabelAfterFailure();
    return std::move(phases_);
  }

 private:
  uint32_t Seq(uint32_t index) const { return index < count_ ? events_[index].seq : heap_.events.size(); }

  void Fill(uint32_t begin, uint32_t end, Phase phase) {
    if (begin < end) std::fill(phases_.begin() + (begin == 0 ? 0 : Seq(begin)), phases_.begin() + Seq(end), phase);
  }

  uint32_t LastFailureSeq() const {
    for (uint32_t seq = heap_.events.size(); seq-- > 0;) {
      if (store_.events.kind[heap_.events.begin + seq] == EventKind::kOutOfMemory) return seq;
    }
    return kNone;
  }
  uint32_t LastFailure() const {
    const uint32_t seq = LastFailureSeq();
    return seq == kNone ? kNone : OrderIndexAt(events_, seq);
  }

  uint32_t LastAlloc() const {
    uint32_t index = count_;
    while (index > 0 && !events_[index - 1].is_alloc) --index;
    return index;
  }

  void LabelPass(const BackwardPass& pass, const BatchInputs& inputs) {
    Fill(inputs.begin(), pass.begin, Phase::kForward);
    Fill(inputs.before_drop.begin, inputs.before_drop.end, Phase::kInput);
    Fill(inputs.before_forward.begin, inputs.before_forward.end, Phase::kInput);
    Fill(pass.begin, pass.end, Phase::kBackward);
    if (!pass.gives_back) return;  // what comes back from the host comes in the order in which it left
    for (const Recompute& part : FindRecomputes(events_, pass))
      std::fill(phases_.begin() + Seq(part.first), phases_.begin() + Seq(part.last) + 1, Phase::kRecompute);
  }

  // Before the first batch the model is loaded; a recording that starts later begins with the rest of a step.
  void LabelLoad(IndexRange input) {
    uint32_t load_end = 0;  // after the last parameter
    uint32_t older_count = 0;
    for (uint32_t i = 0; i < input.begin; ++i) {
      const bool stays = events_[i].IsLargeAlloc() && events_[i].free_index == kNone;
      if (stays && gradients_.count_of_size.contains(events_[i].size_bytes)) load_end = i + 1;
      if (!events_[i].is_alloc && !events_[i].IsScalar() && events_[i].alloc_index == kNone) ++older_count;
    }
    if (load_end == 0 && older_count >= kFewestDropped) {
      Fill(0, input.begin, Phase::kOptimizer);
      LabelOldDrops(input.begin);
      return;
    }
    Fill(0, input.begin, Phase::kLoad);
    // A first forward that saves nothing for long is the warm-up of a compiler.
    constexpr uint32_t kFewestOfForward = 16;
    if (load_end == 0 || input.begin - load_end < kFewestOfForward) return;
    uint32_t first = load_end;
    const auto is_batch = [&](const OrderEvent& event) {
      return event.free_index != kNone && event.LivesBeyond(passes_[0].end);
    };
    while (first < input.begin && is_batch(events_[first])) ++first;
    Fill(load_end, first, Phase::kInput);
    // So is an evaluation or a generation, which is longer.
    const bool is_longer = input.begin - first > 4 * (passes_[0].end - passes_[0].forward_begin);
    Fill(first, input.begin, is_longer ? Phase::kEval : Phase::kForward);
  }

  // Gradients older than the recording that are dropped before its first forward, after temporaries of the same sizes.
  void LabelOldDrops(uint32_t end) {
    uint32_t gradient_count = 0;
    for (uint32_t i = passes_[0].begin; i < passes_[0].end; ++i) gradient_count += gradients_.is_gradient[i] ? 1 : 0;
    for (const FreeRun& run : FindFreeRuns(events_)) {
      if (run.begin >= end) return;
      uint32_t first = kNone;
      uint32_t dropped = 0;
      for (uint32_t i = run.end; i-- > run.begin && dropped < gradient_count;) {
        if (events_[i].alloc_index != kNone || !gradients_.count_of_size.contains(events_[i].size_bytes)) continue;
        first = i;
        ++dropped;
      }
      if (dropped >= kFewestDropped) Fill(first, run.end, Phase::kZeroGrad);
    }
  }

  // After a backward: the optimizer, perhaps an evaluation, and what the program does before its next batch.
  void LabelUpdate(size_t pass_index, IndexRange range, const ForwardPattern& pattern) {
    Fill(range.begin, range.end, Phase::kOther);
    const uint32_t forward = pattern.FindFirst(range.begin, range.end);
    const uint32_t signs_end = SignsEnd({range.begin, forward});
    if (IsUpdate(range.begin, signs_end)) {
      Fill(range.begin, UpdateEnd({range.begin, signs_end}), Phase::kOptimizer);
      if (signs_end < forward) Fill(signs_end, forward, Phase::kEval);
    }
    if (forward == range.end) return;
    const bool is_cut_off = range.end == count_ && failure_index_ != kNone && failure_index_ > forward;
    // What the next backward gives back may show no forward: it saved nothing on the device.
    const BackwardPass* next = pass_index + 1 < passes_.size() ? &passes_[pass_index + 1] : nullptr;
    const bool is_of_next = next != nullptr && !next->gives_back && next->forward_begin == next->begin;
    const bool is_forward = is_of_next || (is_cut_off && KeepsActivations(forward));
    Fill(forward, range.end, is_forward ? Phase::kForward : Phase::kEval);
  }

  // A forward of a training keeps much of what it makes, an evaluation next to nothing.
  bool KeepsActivations(uint32_t forward) const {
    uint32_t made = 0;
    uint32_t kept = 0;
    for (uint32_t i = forward; i < failure_index_; ++i) {
      made += events_[i].IsLargeAlloc() ? 1 : 0;
      kept += events_[i].IsLargeAlloc() && events_[i].LivesBeyond(failure_index_) ? 1 : 0;
    }
    return kept * 5 >= made * 2;
  }

  // Behind the gradients that are dropped in a row: no update follows them. Or behind the part in which signs of an
  // update are dense. What comes then counts only where it is much, as a generation between two updates.
  uint32_t SignsEnd(IndexRange range) const {
    constexpr uint32_t kMuch = 4;  // times as long as what shows signs
    const uint32_t drop_end = DropEnd(range);
    const uint32_t end = drop_end == kNone ? DenseEnd(range) : drop_end;
    const uint32_t left = range.end - end;
    const bool is_much_left = left >= shortest_forward_ && left > (drop_end == kNone ? kMuch : 1) * (end - range.begin);
    return updates_have_signs_ && end > range.begin && is_much_left ? end : range.end;
  }

  // Behind the frees in a row that give back most of the gradients of all that are given back.
  uint32_t DropEnd(IndexRange range) const {
    const auto is_drop = [&](const OrderEvent& event) { return !event.is_alloc && gradients_.Has(event.alloc_index); };
    const auto all = std::count_if(events_.begin() + range.begin, events_.begin() + range.end, is_drop);
    ptrdiff_t dropped = 0;
    for (uint32_t i = range.begin; i < range.end; ++i) {
      if (is_drop(events_[i])) ++dropped;
      if (!events_[i].is_alloc) continue;
      if (dropped >= kFewestDropped && dropped * 2 > all) return i;
      dropped = 0;
    }
    return kNone;
  }

  uint32_t DenseEnd(IndexRange range) const {
    constexpr int64_t kWeight = 4;  // a sign counts as much as so many other allocations
    int64_t balance = 0;
    int64_t best = 0;
    uint32_t end = range.begin;
    for (uint32_t i = range.begin; i < range.end; ++i) {
      balance += (IsSign(events_[i]) ? kWeight : 0) - (events_[i].is_alloc ? 1 : 0);
      if (balance <= best) continue;
      best = balance;
      end = i + 1;
    }
    return end;
  }

  // The last event of the optimizer is behind. A few blocks of other sizes that the program makes last and keeps are no
  // part of it.
  uint32_t UpdateEnd(IndexRange range) const {
    constexpr uint32_t kMostKept = 8;
    uint32_t end = range.begin;
    uint32_t end_of_all = range.begin;
    uint32_t kept_count = 0;
    for (uint32_t i = range.begin; i < range.end; ++i) {
      const OrderEvent& event = events_[i];
      if (!event.is_alloc && !gradients_.IsOfUpdate(event, range.begin)) continue;
      const bool is_kept = event.IsLargeAlloc() && event.LivesBeyond(range.end);
      const bool is_other = is_kept && !gradients_.count_of_size.contains(event.size_bytes);
      end_of_all = i + 1;
      kept_count = is_other ? kept_count + 1 : 0;
      if (!is_other) end = i + 1;
    }
    return kept_count > kMostKept || end == range.begin ? end_of_all : end;
  }

  // An update drops gradients or allocates in their sizes.
  bool IsSign(const OrderEvent& event) const {
    const bool drops = !event.is_alloc && gradients_.Has(event.alloc_index);
    return drops || (event.IsLargeAlloc() && gradients_.count_of_size.contains(event.size_bytes));
  }
  bool HasSigns(IndexRange range) const {
    const auto begin = events_.begin();
    return std::count_if(begin + range.begin, begin + range.end,
                         [&](const OrderEvent& event) { return IsSign(event); }) >= kFewestDropped;
  }

  // Accumulated gradients are not updated after each backward. An update that does not show in gradients takes their
  // norms, or, where no update of the program shows, allocates much else.
  bool IsUpdate(uint32_t begin, uint32_t end) const {
    constexpr uint32_t kMany = 8;
    if (HasSigns({begin, end})) return true;
    uint32_t scalar_count = 0;
    uint32_t other_count = 0;
    for (uint32_t i = begin; i < end; ++i) {
      const OrderEvent& event = events_[i];
      scalar_count += event.is_alloc && event.IsScalar() ? 1 : 0;
      other_count += event.IsLargeAlloc() && !gradients_.count_of_size.contains(event.size_bytes) ? 1 : 0;
    }
    return scalar_count >= kMany || (!updates_have_signs_ && other_count >= kMany);
  }

  // Frees in a row of gradients.
  void LabelDrops() {
    for (const FreeRun& run : FindFreeRuns(events_)) {
      uint32_t first = kNone;
      uint32_t last = kNone;
      uint32_t dropped = 0;
      for (uint32_t i = run.begin; i < run.end; ++i) {
        if (!gradients_.Has(events_[i].alloc_index)) continue;
        first = std::min(first, i);
        last = i;
        ++dropped;
      }
      if (dropped >= kFewestDropped) Fill(first, last + 1, Phase::kZeroGrad);
    }
  }

  // Inference, or a first step that failed before its backward.
  void LabelWithoutBackward() {
    uint32_t load_end = LoadEnd(kNone);
    if (load_end == 0) load_end = std::min(LoadEnd(LastAlloc()), FirstFree());
    bool is_inference = failure_index_ == kNone;
    if (load_end == 0) {
      load_end = EndOfLasting(LastAlloc());
      is_inference = is_inference || (load_end * 2 <= count_ && !KeepsActivations(load_end));
      if (!is_inference) return;
    }
    if (load_end == 0) return;
    Fill(0, load_end, Phase::kLoad);
    Fill(load_end, count_, is_inference ? Phase::kEval : Phase::kForward);
  }

  // After the leading blocks that live beyond `index`, hardly others between them; 0 where they are too few.
  uint32_t LoadEnd(uint32_t index) const {
    constexpr uint32_t kMostBetween = 3;
    uint32_t end = 0;
    uint32_t loaded_count = 0;
    uint32_t between_count = 0;
    for (uint32_t i = 0; i < count_ && between_count <= kMostBetween; ++i) {
      if (!events_[i].is_alloc) continue;
      if (!events_[i].LivesBeyond(index)) {
        ++between_count;
        continue;
      }
      between_count = 0;
      ++loaded_count;
      end = i + 1;
    }
    return loaded_count < kFewestLoaded ? 0 : end;
  }

  // After the leading part in which the blocks that live beyond `index` outweigh the others; 0 where none is. Weights
  // may be made in one precision first and then in another.
  uint32_t EndOfLasting(uint32_t index) const {
    constexpr int64_t kWeight = 2;  // a block that lasts counts as much as so many others
    int64_t balance = 0;
    int64_t best = 0;
    uint32_t end = 0;
    uint32_t lasting_count = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      if (!events_[i].is_alloc) continue;
      lasting_count += events_[i].LivesBeyond(index) ? 1 : 0;
      balance += events_[i].LivesBeyond(index) ? kWeight : -1;
      if (balance <= best || lasting_count < kFewestLoaded) continue;
      best = balance;
      end = i + 1;
    }
    return end;
  }

  uint32_t FirstFree() const {
    uint32_t index = 0;
    while (index < count_ && events_[index].is_alloc) ++index;
    return index;
  }

  // What a failure takes down is no part of the step.
  void LabelAfterFailure() {
    const uint32_t seq = LastFailureSeq();
    const uint32_t failure = seq == kNone ? count_ : OrderIndexAt(events_, seq);
    if (seq == kNone || LastAlloc() > failure) return;
    const uint32_t end = UnwindEnd(failure);
    if (end > failure) std::fill(phases_.begin() + seq + 1, phases_.begin() + Seq(end), phases_[seq]);
    std::fill(phases_.begin() + (end > failure ? Seq(end) : seq + 1), phases_.end(), Phase::kOther);
  }

  // The function that failed gives back its temporaries at once: in an update all that it made, else the youngest.
  uint32_t UnwindEnd(uint32_t failure) const {
    const Phase phase = failure == 0 ? Phase::kOther : phases_[Seq(failure - 1)];
    uint32_t youngest = failure;  // no block made before here and after `youngest` lives
    uint32_t end = failure;
    for (; end < count_ && events_[end].alloc_index != kNone; ++end) {
      const uint32_t made_at = events_[end].alloc_index;
      if (phases_[Seq(made_at)] != phase) break;
      if (phase == Phase::kOptimizer) continue;
      while (youngest > 0 && !(events_[youngest - 1].is_alloc && events_[youngest - 1].free_index >= end)) --youngest;
      if (youngest == 0 || made_at != youngest - 1) break;
    }
    return end;
  }

  const Store& store_;
  const Heap& heap_;
  const OrderEvents events_;
  const uint32_t count_;
  const uint32_t failure_index_;
  const std::vector<BackwardPass> passes_;
  const OrderGradients gradients_;
  std::vector<Phase> phases_;
  bool updates_have_signs_ = false;
  uint32_t shortest_forward_ = UINT32_MAX;  // in events of the order
};

}  // namespace

std::vector<Phase> LabelByOrder(const Store& store, const Heap& heap) { return OrderLabeller(store, heap).Run(); }

}  // namespace memstrata
