#include "analysis/category/categorize.h"

#include <algorithm>
#include <limits>

#include "analysis/category/growing_cache.h"
#include "analysis/category/loaded_checkpoint.h"
#include "analysis/category/logits.h"
#include "analysis/category/master_weights.h"
#include "analysis/category/parameter_sizes.h"
#include "analysis/category/static_cache.h"
#include "analysis/category/trained_parameters.h"
#include "analysis/category/update_blocks.h"
#include "analysis/category/weight_copies.h"
#include "analysis/frames/fsdp_stacks.h"
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

bool IsGeneration(Phase phase) { return phase == Phase::kPrefill || phase == Phase::kDecode; }

// cuBLAS keeps one workspace a handle and stream: the default sizes of PyTorch for compute capability 9 and for older
// cards, and the one of cuBLASLt.
constexpr uint64_t kWorkspaceBytes[] = {33'554'432, 8'519'680};
constexpr uint64_t kLtWorkspaceBytes = 1'048'576;

/// A line of a generation that may make its cache.
struct CacheLine {
  int64_t votes_bytes = 0;  // of blocks that outlive their call of the model, less those that do not
  uint64_t smallest_bytes = std::numeric_limits<uint64_t>::max();  // of a block that outlives it
};

class Categorizer {
 public:
  Categorizer(const Store& store, const Heap& heap, const Timeline& timeline)
      : table_(store.allocations),
        store_(store),
        heap_(heap),
        timeline_(timeline),
        by_stack_(CategoriesByStack(store)),
        is_of_fsdp_(FindFsdpStacks(store)),
        categories_(heap.allocations.size(), Category::kUnknown) {}

  std::vector<Category> Run() {
    FindGroupEnds();
    FindAutocastExits();
    CountWorkspaces();
    CountCacheVotes();
    for (uint32_t seq = 0; seq < heap_.events.size(); ++seq) {
      if (store_.events.kind[heap_.events.begin + seq] == EventKind::kOutOfMemory) failure_seqs_.push_back(seq);
    }
    is_training_ = timeline_.Has(Phase::kBackward);
    for (uint32_t seq = 0; seq < heap_.events.size(); ++seq) {
      has_loaded_module_ = has_loaded_module_ || (PhaseAt(seq) == Phase::kLoad && !timeline_.is_plain[seq]);
    }
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      if (table_.alloc_seq[row] != kNone) Of(row) = ByLife(row);
    }
    CategorizePreexisting();
    MarkReplacedParameters(store_, heap_, timeline_, categories_);
    if (timeline_.basis != PhaseBasis::kStack) MarkStatesOfBackward(store_, heap_, timeline_, categories_);
    MarkTrainedParameters(store_, heap_, timeline_, categories_);
    MarkLoadedCheckpoint(store_, heap_, timeline_, categories_);
    MarkMasterWeights(store_, heap_, timeline_, categories_);
    MarkStaticCaches(store_, heap_, timeline_, categories_);
    MarkGrowingCaches(store_, heap_, timeline_, categories_);
    MarkWeightCopies(store_, heap_, timeline_, categories_);
    MarkLogits(store_, heap_, timeline_, by_stack_, categories_);
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
    backward_end_.resize(count);
    for (uint32_t seq = count; seq-- > 0;) {
      const bool last = seq + 1 == count;
      group_end_[seq] = !last && GroupOf(PhaseAt(seq)) == GroupOf(PhaseAt(seq + 1)) ? group_end_[seq + 1] : seq + 1;
      phase_end_[seq] = !last && PhaseAt(seq) == PhaseAt(seq + 1) ? phase_end_[seq + 1] : seq + 1;
      const bool goes_on = !last && MayLieInBackward(PhaseAt(seq)) && MayLieInBackward(PhaseAt(seq + 1));
      backward_end_[seq] = goes_on ? backward_end_[seq + 1] : seq + 1;
    }
  }

  // Hooks may update each parameter in the midst of a backward, as soon as its gradient is there.
  static bool MayLieInBackward(Phase phase) {
    const Group group = GroupOf(phase);
    return group == Group::kBackward || group == Group::kOptimizer || group == Group::kZeroGrad;
  }

  // The engine gives back what is between two tensors of the graph; the update gives back gradients of parameters.
  bool IsGivenBackByEngine(uint32_t row) const {
    const uint32_t end = table_.free_requested_seq[row];
    return end < backward_end_[table_.alloc_seq[row]] && GroupOf(PhaseAt(end)) == Group::kBackward;
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

  // FSDP makes what it sends too; what it makes of the model, or in a backward, and keeps are its shards.
  bool IsShard(uint32_t row, bool outlives_group) const {
    const Group group = GroupOf(PhaseAt(table_.alloc_seq[row]));
    return is_of_fsdp_[table_.stack[row].value] && outlives_group &&
           (group == Group::kLoad || group == Group::kBackward);
  }

  static bool HasWorkspaceSize(uint64_t size_bytes) {
    return std::find(std::begin(kWorkspaceBytes), std::end(kWorkspaceBytes), size_bytes) != std::end(kWorkspaceBytes);
  }

  // A product of matrices makes its workspace when it first runs: in a forward or a backward. A weight, its gradient
  // and its states may have that size too.
  bool MayBeWorkspace(uint32_t row) const {
    if (!HasWorkspaceSize(table_.size_bytes[row])) return false;
    const Category named = by_stack_[table_.stack[row].value];
    const bool is_other = named != Category::kUnknown && named != Category::kActivation && named != Category::kLogits;
    if (table_.alloc_seq[row] == kNone) return !is_other;
    const Group group = GroupOf(PhaseAt(table_.alloc_seq[row]));
    if (group == Group::kInput && timeline_.basis == PhaseBasis::kStack) return false;
    if (group == Group::kBackward && workspace_sizes_of_gradients_.contains(table_.size_bytes[row])) return false;
    if (group == Group::kBackward && table_.free_requested_seq[row] == kNone && kept_in_backward_count_ > kMostThreads)
      return false;
    return !is_other && group != Group::kLoad && group != Group::kOptimizer;
  }

  // Older versions keep a workspace for ever; newer ones take it for every call and give it back at once.
  void CountWorkspaces() {
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      const uint32_t seq = table_.alloc_seq[row];
      const uint64_t size_bytes = table_.size_bytes[row];
      if (!HasWorkspaceSize(size_bytes) || seq == kNone || GroupOf(PhaseAt(seq)) != Group::kBackward) continue;
      // What a backward makes and a later phase gives back is a gradient, and so is the last one of its size.
      if (table_.free_requested_seq[row] == kNone) {
        ++kept_in_backward_count_;
      } else if (table_.free_requested_seq[row] >= group_end_[seq]) {
        workspace_sizes_of_gradients_[size_bytes] = true;
      }
    }
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      if (!MayBeWorkspace(row)) continue;
      kept_workspace_count_ += table_.free_requested_seq[row] == kNone ? 1 : 0;
      short_workspace_count_ += IsShort(row) ? 1 : 0;
    }
    // More blocks of that size than a program has handles and streams are weights or activations.
    constexpr uint32_t kMostKept = 16;
    keeps_workspace_ = kept_workspace_count_ > 0 && kept_workspace_count_ <= kMostKept;
  }

  // A request failed in its life, and it went down with what the failure took down.
  bool IsTakenDown(uint32_t begin_seq, uint32_t free_seq) const {
    const auto failure = std::upper_bound(failure_seqs_.begin(), failure_seqs_.end(), begin_seq);
    return free_seq != kNone && failure != failure_seqs_.end() && *failure < free_seq;
  }

  bool IsShort(uint32_t row) const {
    constexpr uint32_t kMostEvents = 8;
    return table_.alloc_seq[row] != kNone && table_.free_requested_seq[row] - table_.alloc_seq[row] <= kMostEvents;
  }

  // A checkpointed function that runs again does so on a thread of the engine, which has a workspace of its own.
  bool RunsForward(uint32_t seq) const {
    const bool is_again = timeline_.basis == PhaseBasis::kStack && PhaseAt(seq) == Phase::kRecompute;
    return is_again || GroupOf(PhaseAt(seq)) == Group::kForward;
  }

  bool IsWorkspace(uint32_t row) const {
    if (by_stack_[table_.stack[row].value] == Category::kWorkspace) return true;
    const bool stays = table_.free_requested_seq[row] == kNone;
    if (table_.size_bytes[row] == kLtWorkspaceBytes) {
      const uint32_t begin = table_.alloc_seq[row];
      return keeps_workspace_ && stays && begin != kNone && RunsForward(begin);
    }
    constexpr uint32_t kFewestShort = 8;
    return MayBeWorkspace(row) && ((stays && keeps_workspace_) || (kept_workspace_count_ == 0 && IsShort(row) &&
                                                                   short_workspace_count_ >= kFewestShort));
  }

  // A cache of a generation lives from one call of the model to the next.
  bool OutlivesStep(uint32_t row) const {
    const uint32_t step = timeline_.step_of_event[table_.alloc_seq[row]];
    return step != kNone && table_.free_requested_seq[row] >= timeline_.steps[step].end_seq;
  }

  // In inference no batch is needed in the second step after its own; one that was made for the first step may serve
  // all.
  bool StaysForSteps(uint32_t row) const {
    const uint32_t step = timeline_.step_of_event[table_.alloc_seq[row]];
    if (is_training_ || step == kNone || step == 0 || step + 2 >= timeline_.steps.size()) return false;
    return table_.free_requested_seq[row] > timeline_.steps[step + 2].begin_seq;
  }

  // What mostly lives on from call to call does not where the generation ends. A line may make the new part of a cache
  // too, which is smaller than all of it.
  bool MakesCache(uint32_t row) const {
    const auto found = cache_lines_.find(table_.stack[row].value);
    return table_.stack[row].value != 0 && found != cache_lines_.end() && found->second.votes_bytes > 0 &&
           table_.size_bytes[row] >= found->second.smallest_bytes;
  }

  void CountCacheVotes() {
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      const uint32_t seq = table_.alloc_seq[row];
      if (seq == kNone || !IsGeneration(PhaseAt(seq))) continue;
      CacheLine& line = cache_lines_[table_.stack[row].value];
      const auto bytes = static_cast<int64_t>(table_.size_bytes[row]);
      line.votes_bytes += OutlivesStep(row) ? bytes : -bytes;
      if (OutlivesStep(row)) line.smallest_bytes = std::min(line.smallest_bytes, table_.size_bytes[row]);
    }
  }

  // What an update leaves behind; a failure in the update takes its temporaries down too, but no later one does.
  bool IsState(uint32_t row, bool outlives_group) const {
    if (!outlives_group) return false;
    const bool is_named = by_stack_[table_.stack[row].value] == Category::kOptimizerState;
    return is_named || OutlivesStep(row) || !IsTakenDown(table_.alloc_seq[row], table_.free_requested_seq[row]);
  }

  Category OfForward(uint32_t row, bool outlives_group) const {
    const Phase phase = PhaseAt(table_.alloc_seq[row]);
    if (is_autocast_exit_[table_.free_stack[row].value]) return Category::kAutocastCopy;
    if (IsGeneration(phase)) return OutlivesStep(row) || MakesCache(row) ? Category::kKvCache : Category::kTemporary;
    if (phase == Phase::kEval) {
      if (outlives_group && timeline_.is_plain[table_.alloc_seq[row]])
        return StaysForSteps(row) ? Category::kUnknown : Category::kInput;
      return is_training_ && OutlivesStep(row) ? Category::kActivation : Category::kTemporary;  // its graph is kept
    }
    return outlives_group ? Category::kActivation : Category::kTemporary;
  }

  // Averages of weights and the like are made after the model, by the program itself.
  Category OfLoad(uint32_t row, bool outlives_group) const {
    if (!outlives_group) return Category::kTemporary;
    if (by_stack_[table_.stack[row].value] == Category::kOptimizerState) return Category::kOptimizerState;
    return timeline_.is_plain[table_.alloc_seq[row]] && has_loaded_module_ ? Category::kUnknown : Category::kParameter;
  }

  Category ByLife(uint32_t row) const {
    const uint32_t begin = table_.alloc_seq[row];
    const uint32_t end = table_.free_requested_seq[row];  // kNone is later than all
    const Phase phase = PhaseAt(begin);
    const Category named = by_stack_[table_.stack[row].value];
    const bool outlives_group = end >= group_end_[begin];
    if (IsWorkspace(row)) return Category::kWorkspace;
    if (named == Category::kCommunication && IsShard(row, outlives_group))
      return GroupOf(phase) == Group::kLoad ? Category::kParameter : Category::kGradient;
    if (named == Category::kCommunication || (named == Category::kKvCache && !is_training_)) return named;
    if (named == Category::kParameter && GroupOf(phase) != Group::kLoad) return named;  // gathered for one layer
    switch (GroupOf(phase)) {
      case Group::kLoad:
        return OfLoad(row, outlives_group);
      case Group::kInput:
        return StaysForSteps(row) ? Category::kUnknown : Category::kInput;
      case Group::kForward:
        return OfForward(row, outlives_group || (timeline_.basis == PhaseBasis::kStack && IsTakenDown(begin, end)));
      case Group::kBackward:
        if (outlives_group && !IsGivenBackByEngine(row)) return Category::kGradient;
        return phase == Phase::kRecompute && end >= phase_end_[begin] ? Category::kActivation : Category::kTemporary;
      case Group::kOptimizer:
        return IsState(row, outlives_group) ? Category::kOptimizerState : Category::kTemporary;
      case Group::kZeroGrad:
        return Category::kTemporary;
      case Group::kOther:
        break;
    }
    return outlives_group ? Category::kUnknown : Category::kTemporary;
  }

  // Sizes of blocks that an update leaves behind.
  FlatMap<uint64_t, bool> SizesOfStates() {
    FlatMap<uint64_t, bool> sizes;
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      if (table_.alloc_seq[row] != kNone && Of(row) == Category::kOptimizerState) sizes[table_.size_bytes[row]] = true;
    }
    return sizes;
  }

  // A block older than the recording that ends in it: by where it ends. An update that writes its states anew gives the
  // old ones back.
  Category OfEnd(uint32_t row, const FlatMap<uint64_t, bool>& state_sizes) const {
    const Group group = GroupOf(PhaseAt(table_.free_requested_seq[row]));
    if (group == Group::kOptimizer && state_sizes.contains(table_.size_bytes[row])) return Category::kOptimizerState;
    if (group == Group::kZeroGrad || group == Group::kOptimizer) return Category::kGradient;
    return group == Group::kBackward ? Category::kActivation : Category::kInput;
  }

  // Blocks older than the recording. Those that stay are, in the order of their addresses, the parameters, then
  // gradients that the backward adds to in place, then states of the optimizer, as many of each size as there are
  // parameters.
  void CategorizePreexisting() {
    const FlatMap<uint64_t, bool> state_sizes = SizesOfStates();
    std::vector<uint32_t> lasting;
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      if (table_.alloc_seq[row] != kNone) continue;
      const Category named = by_stack_[table_.stack[row].value];
      if (IsWorkspace(row)) {
        Of(row) = Category::kWorkspace;
      } else if (table_.free_requested_seq[row] != kNone) {
        Of(row) = OfEnd(row, state_sizes);
      } else if (named != Category::kUnknown) {
        Of(row) = named;
      } else if (!heap_.capabilities.has_events && table_.stack[row].value != 0) {
        Of(row) = Category::kUnknown;  // no history, and a stack that does not name it
      } else {
        lasting.push_back(row);
      }
    }
    const bool makes_states =
        std::find(categories_.begin(), categories_.end(), Category::kOptimizerState) != categories_.end();
    FlatMap<uint64_t, uint32_t> parameters =
        CountSizesInStep(store_, heap_, timeline_, categories_, Category::kGradient);
    const bool keeps_gradients = parameters.empty() && is_training_;
    if (keeps_gradients) parameters = CountSizesInStep(store_, heap_, timeline_, categories_, Category::kTemporary);
    std::sort(lasting.begin(), lasting.end(), [&](uint32_t a, uint32_t b) { return table_.addr[a] < table_.addr[b]; });
    FlatMap<uint64_t, uint32_t> seen;
    for (const uint32_t row : lasting) {
      const auto count = parameters.find(table_.size_bytes[row]);
      Of(row) = Category::kParameter;
      if (count == parameters.end()) continue;
      const uint32_t round = seen[table_.size_bytes[row]]++ / count->second;
      if (round == 1 && keeps_gradients) {
        Of(row) = Category::kGradient;
      } else if (round > 0 && !makes_states) {
        Of(row) = Category::kOptimizerState;
      }
    }
  }

  const AllocationTable& table_;
  const Store& store_;
  const Heap& heap_;
  const Timeline& timeline_;
  std::vector<Category> by_stack_;
  std::vector<bool> is_of_fsdp_;  // by stack
  std::vector<Category> categories_;
  std::vector<bool> is_autocast_exit_;        // by stack
  std::vector<uint32_t> failure_seqs_;        // ascending
  FlatMap<uint32_t, CacheLine> cache_lines_;  // by stack
  bool keeps_workspace_ = false;
  uint32_t kept_workspace_count_ = 0;
  uint32_t short_workspace_count_ = 0;
  static constexpr uint32_t kMostThreads = 2;  // of the autograd engine with a device of their own, and one to spare
  FlatMap<uint64_t, bool> workspace_sizes_of_gradients_;
  uint32_t kept_in_backward_count_ = 0;  // as large as a workspace, and never given back
  bool is_training_ = false;
  bool has_loaded_module_ = false;  // stacks say of some block that it was loaded
  std::vector<uint32_t> group_end_;
  std::vector<uint32_t> phase_end_;
  std::vector<uint32_t> backward_end_;  // of a backward with the updates in it
};

// An XLA profile has no call stacks; what a block is for is known only where the profile gives its region.
std::vector<Category> CategoriesByRegion(const Store& store, const Heap& heap) {
  std::vector<Category> categories(heap.allocations.size(), Category::kUnknown);
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    if (store.allocations.alloc_seq[row] == kNone || (store.allocations.flags[row] & kReservedStack) != 0) continue;
    const uint32_t event = store.EventRow(heap, store.allocations.alloc_seq[row]);
    if (store.String(store.xplane.events.region[event]) == "temp")
      categories[row - heap.allocations.begin] = Category::kTemporary;
  }
  return categories;
}

}  // namespace

std::vector<Category> Categorize(const Store& store, const Heap& heap, const Timeline& timeline) {
  if (store.HasXPlaneDetails(heap)) return CategoriesByRegion(store, heap);
  // Without a history, call stacks alone tell kinds of memory; those of JAX do not name them.
  if (heap.allocator == "jax") return std::vector<Category>(heap.allocations.size(), Category::kUnknown);
  return Categorizer(store, heap, timeline).Run();
}

}  // namespace memstrata
