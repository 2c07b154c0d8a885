#include "analysis/phases/label_by_order.h"

#include <algorithm>

#include "analysis/phases/order_landmarks.h"
#include "base/flat_map.h"

namespace memstrata {
namespace {

class OrderLabeller {
 public:
  OrderLabeller(const Store& store, const Heap& heap)
      : marks_(FindOrderLandmarks(store, heap)), phases_(heap.events.size(), Phase::kOther) {}

  std::vector<Phase> Run() {
    const uint32_t count = static_cast<uint32_t>(phases_.size());
    Fill(0, marks_.load_end_seq, Phase::kLoad);
    uint32_t forward = marks_.load_end_seq;
    for (size_t i = 0; i < marks_.backward_begin_seqs.size(); ++i) {
      const uint32_t begin = marks_.backward_begin_seqs[i];
      const uint32_t next = i + 1 < marks_.backward_begin_seqs.size() ? marks_.backward_begin_seqs[i + 1] : count;
      LabelForward(forward, begin);
      const uint32_t end = BackwardEnd(begin, next);
      Fill(begin, end, Phase::kBackward);
      LabelRecompute(forward, begin, end);
      forward = LabelUpdate(end, next);
    }
    for (const GradientDrop& drop : marks_.drops) Fill(drop.begin_seq, std::min(drop.end_seq, count), Phase::kZeroGrad);
    if (marks_.backward_begin_seqs.empty() && forward > 0) Fill(forward, count, Phase::kForward);  // inference
    if (!marks_.backward_begin_seqs.empty()) LabelRest(forward);
    return std::move(phases_);
  }

 private:
  void Fill(uint32_t begin, uint32_t end, Phase phase) {
    if (begin < end) std::fill(phases_.begin() + begin, phases_.begin() + end, phase);
  }
  size_t IndexAt(uint32_t seq) const { return OrderIndexAt(marks_.events, seq); }

  // A batch comes first and stays until the next one replaces it; the activations are gone by then.
  void LabelForward(uint32_t begin, uint32_t backward) {
    Fill(begin, backward, Phase::kForward);
    constexpr size_t kMostInputs = 16;
    uint32_t end = begin;
    size_t inputs = 0;
    for (size_t i = IndexAt(begin); i < marks_.events.size() && marks_.events[i].seq < backward && inputs < kMostInputs;
         ++i) {
      const OrderEvent& event = marks_.events[i];
      const bool is_short = event.is_alloc && event.free_seq < backward;
      const bool is_larger = event.is_alloc && inputs > 0 && event.size_bytes > 16 * first_input_bytes_;
      if (is_short || is_larger) break;
      if (event.is_alloc && inputs++ == 0) first_input_bytes_ = event.size_bytes;
      end = event.seq + (event.is_alloc ? 1 : 2);
    }
    Fill(begin, std::min(end, backward), Phase::kInput);
  }

  // The backward goes on while it makes gradients and gives back what the forward left, until the optimizer starts.
  uint32_t BackwardEnd(uint32_t begin, uint32_t next) const {
    uint32_t limit = next;
    const auto drop = std::find_if(marks_.drops.begin(), marks_.drops.end(),
                                   [&](const GradientDrop& d) { return d.begin_seq > begin; });
    if (drop != marks_.drops.end()) limit = std::min(limit, drop->begin_seq);
    const auto forward = std::upper_bound(marks_.forward_begin_seqs.begin(), marks_.forward_begin_seqs.end(), begin);
    if (forward != marks_.forward_begin_seqs.end()) limit = std::min(limit, *forward);
    if (const uint32_t optimizer = OptimizerBegin(begin, limit); optimizer < limit) return optimizer;
    if (limit < phases_.size() && marks_.parameters_bytes.size() > 3) return limit;  // an update in place, or none yet
    uint32_t last = begin;
    if (drop != marks_.drops.end() && drop->last_alloc_seq != kNone && drop->last_alloc_seq > begin &&
        drop->last_alloc_seq < limit)
      last = drop->last_alloc_seq;
    for (size_t i = IndexAt(begin); i < marks_.events.size() && marks_.events[i].seq < limit; ++i) {
      const OrderEvent& event = marks_.events[i];
      const bool of_forward =
          !event.is_alloc && event.alloc_seq != kNone && event.alloc_seq < begin && event.size_bytes > 8;
      if (of_forward && !IsInput(event.alloc_seq)) last = std::max(last, event.seq);
    }
    size_t i = IndexAt(last) + 1;
    uint32_t end = last + 1;
    while (i < marks_.events.size() && marks_.events[i].seq < limit && !marks_.events[i].is_alloc)
      end = marks_.events[i++].seq + 2;
    return std::min(std::max(end, last + 1), limit);
  }

  // The optimizer goes through the parameters in their order; the backward makes their gradients in the opposite one.
  uint32_t OptimizerBegin(uint32_t begin, uint32_t limit) const {
    constexpr size_t kEnough = 4;
    const std::vector<uint64_t>& parameters = marks_.parameters_bytes;
    if (parameters.size() < kEnough) return limit;
    std::vector<uint32_t> first_seqs;  // allocations of the first parameter's size
    constexpr size_t kManyScalars = 6;
    size_t scalar_count = 0;  // scalars in a row
    uint32_t first_scalar = limit;
    size_t matched = 0;
    size_t second_count = 0;  // the optimizer makes as many for the first parameter as for the second
    for (size_t i = IndexAt(begin); i < marks_.events.size() && marks_.events[i].seq < limit; ++i) {
      const OrderEvent& event = marks_.events[i];
      if (!event.is_alloc) continue;
      if (event.size_bytes <= 8) {
        // Norms of all gradients: they are clipped before the update.
        if (scalar_count++ == 0) first_scalar = event.seq;
        if (scalar_count >= kManyScalars) return first_scalar;
        continue;
      }
      scalar_count = 0;
      const bool repeats = matched > 0 && event.size_bytes == parameters[matched - 1];
      if (!repeats && event.size_bytes != parameters[matched]) {
        first_seqs.clear();
        matched = second_count = 0;
      }
      if (!repeats && event.size_bytes != parameters[matched]) continue;
      matched += repeats ? 0 : 1;
      if (matched == 1) first_seqs.push_back(event.seq);
      if (matched == 2) ++second_count;
      if (matched == kEnough) return first_seqs[first_seqs.size() - std::min(first_seqs.size(), second_count)];
    }
    return limit;
  }

  bool IsInput(uint32_t seq) const { return phases_[seq] == Phase::kInput; }

  // From the end of a backward: the optimizer until the gradients are dropped, or what comes before the next forward.
  uint32_t LabelUpdate(uint32_t begin, uint32_t next_backward) {
    const auto drop = std::find_if(marks_.drops.begin(), marks_.drops.end(), [&](const GradientDrop& d) {
      return d.begin_seq >= begin && d.begin_seq < next_backward;
    });
    if (drop == marks_.drops.end()) {
      const auto forward = std::lower_bound(marks_.forward_begin_seqs.begin(), marks_.forward_begin_seqs.end(), begin);
      const uint32_t limit =
          forward == marks_.forward_begin_seqs.end() ? next_backward : std::min(next_backward, *forward);
      const uint32_t end = OptimizerEnd(begin, limit);
      Fill(begin, end, Phase::kOptimizer);
      return end;
    }
    const uint32_t update_end = OptimizerEnd(begin, drop->begin_seq);
    Fill(begin, update_end, Phase::kOptimizer);
    if (update_end < drop->begin_seq && drop->begin_seq - update_end > 40)
      return update_end;  // zero_grad after the next forward
    return drop->end_seq;
  }

  // States and temporaries of the optimizer have the sizes of the gradients; the next forward brings other sizes.
  uint32_t OptimizerEnd(uint32_t begin, uint32_t limit) const {
    if (marks_.drops.empty()) return begin;
    FlatMap<uint64_t, bool> sizes;
    for (const uint64_t size : marks_.drops.front().sizes_bytes) sizes[size] = true;
    uint32_t end = begin;
    size_t strangers = 0;
    for (size_t i = IndexAt(begin); i < marks_.events.size() && marks_.events[i].seq < limit; ++i) {
      const OrderEvent& event = marks_.events[i];
      const bool fits = sizes.contains(event.size_bytes) || event.size_bytes <= 8;
      strangers = fits ? 0 : strangers + 1;
      if (strangers > 2) break;
      if (fits) end = event.seq + (event.is_alloc ? 1 : 2);
    }
    return std::min(end, limit);
  }

  // A recompute repeats the allocations of the forward inside the backward.
  void LabelRecompute(uint32_t forward, uint32_t backward, uint32_t end) {
    constexpr size_t kGram = 5;
    const auto sizes_in = [&](uint32_t from, uint32_t to) {
      std::vector<size_t> indices;
      for (size_t i = IndexAt(from); i < marks_.events.size() && marks_.events[i].seq < to; ++i) {
        if (marks_.events[i].is_alloc) indices.push_back(i);
      }
      return indices;
    };
    const auto hash_at = [&](const std::vector<size_t>& indices, size_t at) {
      uint64_t hash = 0;
      for (size_t k = 0; k < kGram; ++k)
        hash = hash * 0x9E3779B97F4A7C15ULL + marks_.events[indices[at + k]].size_bytes;
      return hash;
    };
    const std::vector<size_t> first = sizes_in(forward, backward);
    const std::vector<size_t> again = sizes_in(backward, end);
    if (first.size() < kGram || again.size() < kGram) return;
    FlatMap<uint64_t, bool> grams;
    for (size_t i = 0; i + kGram <= first.size(); ++i) grams[hash_at(first, i)] = true;
    for (size_t i = 0; i + kGram <= again.size();) {
      size_t run = i;
      while (run + kGram <= again.size() && grams.contains(hash_at(again, run))) ++run;
      if (run > i) Fill(marks_.events[again[i]].seq, marks_.events[again[run + kGram - 2]].seq + 1, Phase::kRecompute);
      i = run > i ? run + kGram - 1 : i + 1;
    }
  }

  // After the last update: a forward that is cut off or an evaluation, or only frees.
  void LabelRest(uint32_t begin) {
    const bool is_forward = !marks_.forward_begin_seqs.empty() && marks_.forward_begin_seqs.back() >= begin;
    if (is_forward) Fill(marks_.forward_begin_seqs.back(), static_cast<uint32_t>(phases_.size()), Phase::kForward);
  }

  OrderLandmarks marks_;
  std::vector<Phase> phases_;
  uint64_t first_input_bytes_ = 0;
};

}  // namespace

std::vector<Phase> LabelByOrder(const Store& store, const Heap& heap) { return OrderLabeller(store, heap).Run(); }

}  // namespace memstrata
