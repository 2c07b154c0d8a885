#include "analysis/category/logits.h"

#include <algorithm>

#include "base/flat_map.h"

namespace memstrata {
namespace {

// Below this a block at the end of the forward is not worth a name of its own.
constexpr uint64_t kSmallestBytes = 1 << 20;

/// A forward and the backward of it, as ranges of events.
struct Pass {
  uint32_t forward_begin = 0;
  uint32_t forward_end = 0;
  uint32_t backward_begin = 0;
  uint32_t backward_end = 0;

  bool is_unfinished() const { return backward_begin == backward_end; }
};

bool HasFailure(const Store& store, const Heap& heap, uint32_t begin_seq, uint32_t end_seq) {
  const auto kinds = store.events.kind.span().subspan(heap.events.begin + begin_seq, end_seq - begin_seq);
  return std::find(kinds.begin(), kinds.end(), EventKind::kOutOfMemory) != kinds.end();
}

// A backward belongs to the last forward before it. A forward that fails has an empty one.
std::vector<Pass> FindPasses(const Store& store, const Heap& heap, const Timeline& timeline) {
  std::vector<Pass> passes;
  Pass pass;
  bool in_forward = false;
  bool in_backward = false;
  bool failed = false;  // since the forward began
  const auto end_without_backward = [&] {
    pass.backward_begin = pass.backward_end = pass.forward_end;
    passes.push_back(pass);
    in_forward = false;
  };
  for (const PhaseSpan& span : timeline.phases) {
    if (IsForward(span.phase)) {
      if (in_forward && failed) end_without_backward();
      if (!in_forward) {
        pass = {span.begin_seq, span.end_seq, 0, 0};
        failed = false;
      }
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
    failed = failed || HasFailure(store, heap, span.begin_seq, span.end_seq);
  }
  if (in_forward) end_without_backward();
  return passes;
}

class LogitsMarker {
 public:
  LogitsMarker(const Store& store, const Heap& heap, const Timeline& timeline, const std::vector<Category>& by_stack,
               std::vector<Category>& categories)
      : store_(store),
        table_(store.allocations),
        heap_(heap),
        timeline_(timeline),
        by_stack_(by_stack),
        categories_(categories) {}

  void MarkNamed() {
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      const uint32_t seq = table_.alloc_seq[row];
      const bool is_named = by_stack_[table_.stack[row].value] == Category::kLogits;
      if (seq != kNone && is_named && IsForward(timeline_.phase_of_event[seq])) Mark(row);
    }
  }

  // What the loss is named by its stack to make, else the largest block at the end of the forward if the backward
  // begins with one as large; and blocks of that size or, in half the precision, half of it on both sides of the loss.
  void MarkBySize(const Pass& pass) {
    const std::vector<uint32_t> forward = MadeIn(pass.forward_begin, pass.forward_end);
    const std::vector<uint32_t> backward = MadeIn(pass.backward_begin, pass.backward_end);
    uint64_t largest = 0;
    for (const uint32_t row : forward) {
      if (Of(row) == Category::kLogits) largest = std::max(largest, table_.size_bytes[row]);
    }
    const bool is_named = largest > 0;
    const size_t late = forward.size() - EdgeOf(forward.size(), 10, is_named);
    if (!is_named) {
      for (size_t i = late; i < forward.size(); ++i) {
        if (MayBeLogits(forward[i])) largest = std::max(largest, table_.size_bytes[forward[i]]);
      }
      if (largest < kSmallestBytes || !StartsWith(backward, largest)) return;
    }
    for (size_t i = 0; i < late; ++i) {  // what the layers make too is no logits
      if (table_.size_bytes[forward[i]] == largest && Of(forward[i]) != Category::kLogits) return;
    }
    for (size_t i = late; i < forward.size(); ++i) MarkIfSized(forward[i], largest);
    const size_t early = EdgeOf(backward.size(), 20, is_named);
    for (size_t i = 0; i < early; ++i) MarkIfSized(backward[i], largest);
  }

  // Where a forward has no backward, as the one that runs out of memory: the largest blocks of the lines whose largest
  // block is logits in every other forward, and their sizes. A line makes smaller ones too, as the input in another
  // precision.
  void MarkUnfinished(const std::vector<Pass>& passes) {
    FlatMap<uint32_t, bool> makes_logits;  // by stack
    for (const Pass& pass : passes) {
      if (pass.is_unfinished()) continue;
      for (const auto& [stack, row] : LargestByStack(pass)) {
        const auto [entry, is_new] = makes_logits.try_emplace(stack, true);
        entry->second = entry->second && Of(row) == Category::kLogits;
      }
    }
    for (const Pass& pass : passes) {
      if (!pass.is_unfinished()) continue;
      for (const auto& [stack, row] : LargestByStack(pass)) {
        const auto entry = makes_logits.find(stack);
        if (entry != makes_logits.end() && entry->second) Mark(row);
      }
      MarkBySize(pass);
    }
  }

 private:
  Category Of(uint32_t row) const { return categories_[row - heap_.allocations.begin]; }
  bool MayBeLogits(uint32_t row) const { return Of(row) == Category::kActivation || Of(row) == Category::kTemporary; }

  std::vector<uint32_t> MadeIn(uint32_t begin, uint32_t end) const {
    std::vector<uint32_t> rows;
    for (uint32_t row = heap_.events.begin + begin; row < heap_.events.begin + end; ++row) {
      if (store_.events.kind[row] == EventKind::kAlloc && store_.events.allocation[row] != kNone)
        rows.push_back(store_.events.allocation[row]);
    }
    return rows;
  }

  // The largest block that each stack makes in a forward, of those that may be logits.
  FlatMap<uint32_t, uint32_t> LargestByStack(const Pass& pass) const {
    FlatMap<uint32_t, uint32_t> largest;
    for (const uint32_t row : MadeIn(pass.forward_begin, pass.forward_end)) {
      const uint32_t stack = table_.stack[row].value;
      if (stack == 0 || (Of(row) != Category::kLogits && !MayBeLogits(row))) continue;
      const auto [entry, is_new] = largest.try_emplace(stack, row);
      if (table_.size_bytes[row] > table_.size_bytes[entry->second]) entry->second = row;
    }
    return largest;
  }

  // How many of the blocks next to the loss are looked at: a share, and a few of a small model; where nothing names the
  // loss, no more than half.
  static size_t EdgeOf(size_t count, size_t share, bool is_named) {
    constexpr size_t kFew = 12;
    return std::max(count / share, std::min(kFew, is_named ? count : count / 2));
  }

  // The backward of a loss over a vocabulary makes first what is as large as the logits. Before it come scalars and, at
  // most, one number a token.
  bool StartsWith(const std::vector<uint32_t>& backward, uint64_t size_bytes) const {
    constexpr uint64_t kFewestClasses = 1024;
    const auto first = std::find_if(backward.begin(), backward.end(), [&](uint32_t row) {
      return Of(row) != Category::kWorkspace && table_.size_bytes[row] > size_bytes / kFewestClasses;
    });
    return first != backward.end() && table_.size_bytes[*first] == size_bytes;
  }

  void MarkIfSized(uint32_t row, uint64_t largest) {
    if (table_.size_bytes[row] == largest || table_.size_bytes[row] * 2 == largest) Mark(row);
  }

  void Mark(uint32_t row) {
    if (MayBeLogits(row) && table_.size_bytes[row] >= kSmallestBytes)
      categories_[row - heap_.allocations.begin] = Category::kLogits;
  }

  const Store& store_;
  const AllocationTable& table_;
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
  const std::vector<Pass> passes = FindPasses(store, heap, timeline);
  for (const Pass& pass : passes) {
    if (!pass.is_unfinished()) marker.MarkBySize(pass);
  }
  marker.MarkUnfinished(passes);
}

}  // namespace memstrata
