#include "analysis/category/categorize.h"

#include <algorithm>

#include "base/flat_map.h"

namespace memstrata {
namespace {

enum class Group : uint8_t { kLoad, kInput, kForward, kBackward, kOptimizer, kZeroGrad, kOther };

Group GroupOf(Phase phase) {
  switch (phase) {
    case Phase::kLoad:
      return Group::kLoad;
    case Phase::kInput:
      return Group::kInput;
    case Phase::kForward:
    case Phase::kLoss:
    case Phase::kEval:
    case Phase::kPrefill:
    case Phase::kDecode:
      return Group::kForward;
    case Phase::kBackward:
    case Phase::kRecompute:
      return Group::kBackward;
    case Phase::kClip:
    case Phase::kOptimizer:
      return Group::kOptimizer;
    case Phase::kZeroGrad:
      return Group::kZeroGrad;
    case Phase::kOther:
      break;
  }
  return Group::kOther;
}

// cuBLAS keeps one workspace a handle and stream: the default sizes of PyTorch for compute capability 9 and for older
// cards, and the one of cuBLASLt.
constexpr uint64_t kWorkspaceBytes[] = {33'554'432, 8'519'680};
constexpr uint64_t kLtWorkspaceBytes = 1'048'576;

class Categorizer {
 public:
  Categorizer(const Store& store, const Heap& heap, const Timeline& timeline)
      : table_(store.allocations),
        store_(store),
        heap_(heap),
        timeline_(timeline),
        by_stack_(CategoriesByStack(store)),
        categories_(heap.allocations.size(), Category::kUnknown) {}

  std::vector<Category> Run() {
    FindGroupEnds();
    FindAutocastExits();
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      if (table_.alloc_seq[row] != kNone) Of(row) = ByLife(row);
    }
    CategorizePreexisting();
    return std::move(categories_);
  }

 private:
  Category& Of(uint32_t row) { return categories_[row - heap_.allocations.begin]; }
  Phase PhaseAt(uint32_t seq) const { return timeline_.phase_of_event[seq]; }

  // Where the run of phases of one group ends that an event lies in; a recompute also ends by itself.
  void FindGroupEnds() {
    const uint32_t count = heap_.events.size();
    group_end_.resize(count);
    phase_end_.resize(count);
    for (uint32_t seq = count; seq-- > 0;) {
      const bool last = seq + 1 == count;
      group_end_[seq] = !last && GroupOf(PhaseAt(seq)) == GroupOf(PhaseAt(seq + 1)) ? group_end_[seq + 1] : seq + 1;
      phase_end_[seq] = !last && PhaseAt(seq) == PhaseAt(seq + 1) ? phase_end_[seq + 1] : seq + 1;
    }
  }

  // Autocast keeps copies of weights and drops them all when its region ends.
  void FindAutocastExits() {
    const StackTable& stacks = store_.stacks.stacks();
    const FrameTable& frames = store_.stacks.frames();
    is_autocast_exit_.resize(stacks.size(), false);
    for (uint32_t node = 1; node < stacks.size(); ++node) {
      const uint32_t frame = stacks.frame[node].value;
      is_autocast_exit_[node] = store_.String(frames.function[frame]) == "__exit__" &&
                                store_.String(frames.file[frame]).ends_with("amp/autocast_mode.py");
    }
  }

  bool IsWorkspace(uint32_t row) const {
    if (by_stack_[table_.stack[row].value] == Category::kWorkspace) return true;
    const uint64_t size = table_.size_bytes[row];
    return std::find(std::begin(kWorkspaceBytes), std::end(kWorkspaceBytes), size) != std::end(kWorkspaceBytes) &&
           table_.free_requested_seq[row] == kNone;
  }

  Category ByLife(uint32_t row) const {
    const uint32_t begin = table_.alloc_seq[row];
    const uint32_t end = table_.free_requested_seq[row];  // kNone is later than all
    const Phase phase = PhaseAt(begin);
    const Category named = by_stack_[table_.stack[row].value];
    const bool outlives_group = end >= group_end_[begin];
    if (IsWorkspace(row)) return Category::kWorkspace;
    if (named == Category::kCommunication || named == Category::kKvCache) return named;
    switch (GroupOf(phase)) {
      case Group::kLoad:
        return outlives_group ? Category::kParameter : Category::kTemporary;
      case Group::kInput:
        return Category::kInput;
      case Group::kForward:
        if (is_autocast_exit_[table_.free_stack[row].value]) return Category::kAutocastCopy;
        return outlives_group && phase != Phase::kEval ? Category::kActivation : Category::kTemporary;
      case Group::kBackward:
        if (outlives_group) return Category::kGradient;
        return phase == Phase::kRecompute && end >= phase_end_[begin] ? Category::kActivation : Category::kTemporary;
      case Group::kOptimizer:
        return outlives_group ? Category::kOptimizerState : Category::kTemporary;
      case Group::kZeroGrad:
        return Category::kTemporary;
      case Group::kOther:
        break;
    }
    return outlives_group ? Category::kUnknown : Category::kTemporary;
  }

  // Gradients of one step by size: how many parameters of that size there are.
  FlatMap<uint64_t, uint32_t> CountGradients() {
    FlatMap<uint64_t, uint32_t> most;
    FlatMap<uint64_t, uint32_t> in_step;
    uint32_t step = kNone;
    const auto finish = [&] {
      for (const auto& [size, count] : in_step) most[size] = std::max(most[size], count);
      in_step.clear();
    };
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      const uint32_t seq = table_.alloc_seq[row];
      if (seq == kNone || Of(row) != Category::kGradient) continue;
      if (timeline_.step_of_event[seq] != step) finish();
      step = timeline_.step_of_event[seq];
      ++in_step[table_.size_bytes[row]];
    }
    finish();
    return most;
  }

  // Blocks older than the recording: those that end in it by where they end, those that stay by their number.
  void CategorizePreexisting() {
    std::vector<uint32_t> lasting;
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      if (table_.alloc_seq[row] != kNone) continue;
      const uint32_t end = table_.free_requested_seq[row];
      if (IsWorkspace(row)) {
        Of(row) = Category::kWorkspace;
      } else if (end == kNone) {
        const Category named = by_stack_[table_.stack[row].value];
        if (named != Category::kUnknown) Of(row) = named;
        if (named == Category::kUnknown) lasting.push_back(row);
      } else {
        const Group group = GroupOf(PhaseAt(end));
        const bool is_gradient = group == Group::kZeroGrad || group == Group::kOptimizer;
        Of(row) = is_gradient                 ? Category::kGradient
                  : group == Group::kBackward ? Category::kActivation
                                              : Category::kInput;
      }
    }
    const bool makes_states =
        std::find(categories_.begin(), categories_.end(), Category::kOptimizerState) != categories_.end();
    const FlatMap<uint64_t, uint32_t> parameters = CountGradients();
    std::sort(lasting.begin(), lasting.end(), [&](uint32_t a, uint32_t b) { return table_.addr[a] < table_.addr[b]; });
    FlatMap<uint64_t, uint32_t> seen;
    for (const uint32_t row : lasting) {
      const auto count = parameters.find(table_.size_bytes[row]);
      const bool beyond = count != parameters.end() && seen[table_.size_bytes[row]]++ >= count->second;
      Of(row) = beyond && !makes_states ? Category::kOptimizerState : Category::kParameter;
    }
  }

  const AllocationTable& table_;
  const Store& store_;
  const Heap& heap_;
  const Timeline& timeline_;
  std::vector<Category> by_stack_;
  std::vector<Category> categories_;
  std::vector<bool> is_autocast_exit_;  // by stack
  std::vector<uint32_t> group_end_;
  std::vector<uint32_t> phase_end_;
};

}  // namespace

std::vector<Category> Categorize(const Store& store, const Heap& heap, const Timeline& timeline) {
  return Categorizer(store, heap, timeline).Run();
}

}  // namespace memstrata
