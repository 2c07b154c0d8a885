#include "analysis/phases/batch_inputs.h"

#include <algorithm>
#include <utility>

namespace memstrata {
namespace {

class BatchFinder {
 public:
  BatchFinder(const OrderEvents& events, const std::vector<BackwardPass>& passes, const OrderGradients& gradients)
      : events_(events), passes_(passes), gradients_(gradients), count_(static_cast<uint32_t>(events.size())) {
    FindPredecessors();
    const auto is_gradient = gradients_.is_gradient.begin();
    for (const BackwardPass& pass : passes_)
      most_gradients_ = std::max(most_gradients_, std::count(is_gradient + pass.begin, is_gradient + pass.end, true));
  }

  IndexRange BeforeForward(size_t pass) const {
    const uint32_t forward = ForwardBegin(pass);
    const IndexRange found = FindBefore(pass, BeginOfGap(pass), forward, kMostBetween);
    return found.begin == kNone || HoldsCopies(found) ? IndexRange{forward, forward} : found;
  }

  // Nothing but the frees of the batch before lies between it and the gradients that are dropped.
  IndexRange BeforeDrop(size_t pass, uint32_t end) const {
    const uint32_t drop = DropBefore(BeginOfGap(pass), end);
    if (drop == kNone) return {};
    constexpr uint32_t kMostReplaced = 8;
    const IndexRange found = FindBefore(pass, BeginOfGap(pass), drop, kMostReplaced);
    return found.begin == kNone || HoldsStates(found) || HoldsCopies(found) ? IndexRange() : found;
  }

 private:
  static constexpr uint32_t kMostBetween = 40;

  // States of the optimizer and copies of weights have the sizes of gradients.
  bool HoldsStates(IndexRange range) const {
    return std::any_of(events_.begin() + range.begin, events_.begin() + range.end, [&](const OrderEvent& event) {
      return event.is_alloc && event.free_index == kNone && gradients_.count_of_size.contains(event.size_bytes);
    });
  }
  bool HoldsCopies(IndexRange range) const {
    const auto copy_count = std::count_if(
        events_.begin() + range.begin, events_.begin() + range.end,
        [&](const OrderEvent& event) { return event.is_alloc && gradients_.count_of_size.contains(event.size_bytes); });
    return copy_count >= kFewestDropped && copy_count * 2 >= most_gradients_;
  }

  // Where nothing that the forward saved shows its begin, the batch is behind what is taken for it.
  uint32_t ForwardBegin(size_t pass) const {
    uint32_t forward = passes_[pass].forward_begin;
    if (passes_[pass].gives_back) return forward;
    for (uint32_t i = forward; i < passes_[pass].begin; ++i) {
      if (events_[i].is_alloc && !IsOfBatch(pass, events_[i])) break;
      if (events_[i].is_alloc) forward = i + 1;
    }
    return forward;
  }

  uint32_t BeginOfGap(size_t pass) const { return pass == 0 ? 0 : passes_[pass - 1].end; }

  // The last blocks of a batch before `end`, at most `most_between` events before it.
  IndexRange FindBefore(size_t pass_index, uint32_t begin, uint32_t end, uint32_t most_between) const {
    uint32_t first = kNone;
    uint32_t last = kNone;
    for (uint32_t i = end; i-- > begin;) {
      const OrderEvent& event = events_[i];
      if (IsOfBatch(pass_index, event)) {
        first = i;
        if (last == kNone) last = i;
      } else if (first == kNone && end - i > most_between) {
        break;
      } else if (first != kNone && (event.IsLargeAlloc() || (!event.is_alloc && gradients_.IsOfUpdate(event, begin)))) {
        break;
      }
    }
    if (first == kNone) return {kNone, kNone};
    uint32_t batch_end = last + 1;  // with what the new batch replaces
    while (batch_end < end && !events_[batch_end].is_alloc) ++batch_end;
    return {MadeFrom(pass_index, begin, first, batch_end), batch_end};
  }

  bool IsOfBatch(size_t pass_index, const OrderEvent& event) const {
    if (!event.IsLargeAlloc() || !event.LivesBeyond(passes_[pass_index].end)) return false;
    const uint32_t next_end = EndOfNext(pass_index);
    if (event.free_index == kNone) return pass_index > 0 && next_end == kNone;  // the last batch has no follower
    return !IsInBackward(event.free_index) && (event.free_index <= next_end || IsReplaced(event));
  }

  // Given back as soon as the next block of its size is there, or right behind one of them: `batch = next(loader)`.
  bool IsReplaced(const OrderEvent& event) const {
    constexpr uint32_t kMostBehind = 8;
    if (event.free_index == kNone) return false;
    uint32_t behind = event.free_index;
    while (behind > 0 && !events_[behind - 1].is_alloc) --behind;
    const bool is_of_size = behind > event.alloc_index + 1 && events_[behind - 1].size_bytes == event.size_bytes;
    if (is_of_size && predecessor_[behind - 1] != kNone) return true;
    for (uint32_t i = event.free_index; i-- > event.alloc_index + 1 && event.free_index - i <= kMostBehind;) {
      if (predecessor_[i] == event.alloc_index) return true;
    }
    return false;
  }

  // Of each block that is made outside of forwards and backwards and lives on in the next one, the one of its size that
  // was made so before it.
  void FindPredecessors() {
    predecessor_.assign(count_, kNone);
    FlatMap<uint64_t, uint32_t> last_of_size;
    size_t next = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      while (next < passes_.size() && passes_[next].end <= i) ++next;
      if (next < passes_.size() && i >= passes_[next].forward_begin) continue;
      const bool lives_on = next < passes_.size() && events_[i].LivesBeyond(passes_[next].begin);
      if (!events_[i].IsLargeAlloc() || !lives_on) continue;
      const auto [last, is_first] = last_of_size.try_emplace(events_[i].size_bytes, i);
      if (!is_first) predecessor_[i] = std::exchange(last->second, i);
    }
  }

  // The end of the next backward with a forward of its own, kNone without one; a graph may have several backwards.
  uint32_t EndOfNext(size_t pass_index) const {
    for (size_t next = pass_index + 1; next < passes_.size(); ++next) {
      if (passes_[next].begin > passes_[next].forward_begin) return passes_[next].end;
    }
    return kNone;
  }

  bool IsInBackward(uint32_t index) const {
    const auto after = std::upper_bound(passes_.begin(), passes_.end(), index,
                                        [](uint32_t i, const BackwardPass& pass) { return i < pass.begin; });
    return after != passes_.begin() && index < (after - 1)->end;
  }

  // Where most of the gradients that are given back in [begin, end) are given back in a row: the first of these frees.
  uint32_t DropBefore(uint32_t begin, uint32_t end) const {
    uint32_t first = kNone;
    uint32_t in_row = 0;
    uint32_t longest = 0;
    uint32_t longest_first = kNone;
    uint32_t all = 0;
    for (uint32_t i = begin; i < end; ++i) {
      if (events_[i].is_alloc) {
        in_row = 0;
      } else if (gradients_.Has(events_[i].alloc_index)) {
        if (in_row == 0) first = i;
        ++all;
        if (++in_row > longest) {
          longest = in_row;
          longest_first = first;
        }
      }
    }
    return longest >= kFewestDropped && longest * 2 > all ? longest_first : kNone;
  }

  // The first event of those right before a batch that make what it is made of, in other types or layouts, and give
  // it back by the time that the batch is there. An update's blocks have sizes of gradients or are scalars.
  uint32_t MadeFrom(size_t pass_index, uint32_t begin, uint32_t first, uint32_t batch_end) const {
    constexpr uint32_t kMost = 24;
    uint32_t made_from = first;
    uint32_t open_count = 0;  // frees seen whose allocation is still to come
    for (uint32_t i = first; i-- > begin && first - i <= kMost;) {
      const OrderEvent& event = events_[i];
      const bool is_own_free = !event.is_alloc && event.alloc_index != kNone && event.alloc_index >= begin;
      if (event.IsScalar() || gradients_.count_of_size.contains(event.size_bytes)) break;
      if (!event.is_alloc && gradients_.Has(event.alloc_index)) break;
      if (event.is_alloc && event.free_index >= batch_end && !IsOfBatch(pass_index, event)) break;
      if (is_own_free) ++open_count;
      if (!event.is_alloc) continue;
      if (event.free_index < first) --open_count;
      if (open_count == 0) made_from = i;
    }
    return made_from;
  }

  const OrderEvents& events_;
  const std::vector<BackwardPass>& passes_;
  const OrderGradients& gradients_;
  const uint32_t count_;
  ptrdiff_t most_gradients_ = 0;       // that a backward makes
  std::vector<uint32_t> predecessor_;  // by index of an allocation
};

// What comes before the blocks of a batch, where a batch has more of them than the others, is something else.
void KeepUsual(const OrderEvents& events, std::vector<BatchInputs>& inputs, IndexRange BatchInputs::*part) {
  const auto count_of = [&](const IndexRange& range) {
    return std::count_if(events.begin() + range.begin, events.begin() + range.end,
                         [](const OrderEvent& event) { return event.IsLargeAlloc(); });
  };
  std::vector<ptrdiff_t> counts;
  for (const BatchInputs& batch : inputs) counts.push_back(count_of(batch.*part));
  std::vector<ptrdiff_t> sorted = counts;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(sorted.size() / 2), sorted.end());
  const ptrdiff_t usual = sorted[sorted.size() / 2];
  for (size_t i = 1; i < inputs.size() && usual > 0; ++i) {
    uint32_t& begin = (inputs[i].*part).begin;
    for (; counts[i] > usual; ++begin) counts[i] -= events[begin].IsLargeAlloc() ? 1 : 0;
    while (begin < (inputs[i].*part).end && !events[begin].IsLargeAlloc()) ++begin;
  }
}

}  // namespace

OrderGradients FindOrderGradients(const OrderEvents& events, const std::vector<BackwardPass>& passes) {
  OrderGradients gradients;
  gradients.is_gradient.resize(events.size(), false);
  for (const BackwardPass& pass : passes) {
    for (uint32_t i = pass.begin; i < pass.end; ++i) {
      if (!events[i].IsLargeAlloc() || !events[i].LivesBeyond(pass.end)) continue;
      gradients.is_gradient[i] = true;
      ++gradients.count_of_size[events[i].size_bytes];
    }
  }
  return gradients;
}

std::vector<BatchInputs> FindBatchInputs(const OrderEvents& events, const std::vector<BackwardPass>& passes,
                                         const OrderGradients& gradients) {
  const BatchFinder finder(events, passes, gradients);
  std::vector<BatchInputs> inputs;
  for (size_t i = 0; i < passes.size(); ++i) inputs.push_back({{}, finder.BeforeForward(i)});
  if (inputs.empty()) return inputs;
  KeepUsual(events, inputs, &BatchInputs::before_forward);
  for (size_t i = 1; i < passes.size(); ++i)
    inputs[i].before_drop = finder.BeforeDrop(i, inputs[i].before_forward.begin);
  KeepUsual(events, inputs, &BatchInputs::before_drop);
  return inputs;
}

}  // namespace memstrata
