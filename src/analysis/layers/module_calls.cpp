#include "analysis/layers/module_calls.h"

#include <algorithm>
#include <span>

#include "base/flat_map.h"

namespace memstrata {
namespace {

bool RunsModules(Phase phase) { return IsForward(phase) || phase == Phase::kRecompute || IsInference(phase); }

/// First events of forwards and of recomputes, each the first after a backward or an update allocated.
std::vector<uint32_t> FindForwardBegins(const Store& store, const Heap& heap, const Timeline& timeline) {
  std::vector<uint32_t> begins;
  bool has_ended = true;
  for (uint32_t seq = 0; seq < heap.events.size(); ++seq) {
    const Phase phase = timeline.phase_of_event[seq];
    const bool is_alloc = store.events.kind[heap.events.begin + seq] == EventKind::kAlloc;
    if (is_alloc && (phase == Phase::kBackward || phase == Phase::kOptimizer)) has_ended = true;
    if (!has_ended || !RunsModules(phase)) continue;
    begins.push_back(seq);
    has_ended = false;
  }
  return begins;
}

/// Counts the jumps of each loop in the forward that runs, those of inner loops anew in each call of an outer one.
class JumpCounter {
 public:
  explicit JumpCounter(const StackTable& stacks) : stacks_(stacks), count_(stacks.size(), 0) {}

  uint32_t Count(uint32_t loop_node) const { return count_[loop_node]; }

  void Add(uint32_t loop_node) {
    StartOver(loop_node);
    if (count_[loop_node]++ == 0) counted_.push_back(loop_node);
  }

  /// What lies below `loop_node` counts anew; 0: everything.
  void StartOver(uint32_t loop_node) {
    std::erase_if(counted_, [&](uint32_t node) {
      const bool is_below = node != loop_node && IsCalledFrom(stacks_, node, loop_node);
      if (is_below) count_[node] = 0;
      return is_below;
    });
  }

 private:
  const StackTable& stacks_;
  std::vector<uint32_t> count_;    // by node
  std::vector<uint32_t> counted_;  // those that are not 0
};

/// What of a stack makes a module path, whatever the moment.
class PathNodes {
 public:
  PathNodes(const Store& store, const Heap& heap, const Timeline& timeline, const PythonCalls& calls,
            std::span<const uint32_t> forward_begins)
      : store_(store),
        heap_(heap),
        calls_(calls),
        stacks_(calls.stacks()),
        frames_(store.stacks.frames()),
        loops_(stacks_.size()),
        counter_of_place_(stacks_.size(), 0) {
    FindModuleCalls(store);
    FindChildren(store, heap);
    FindModels();
    starts_over_.resize(stacks_.size(), false);
    for (const LoopJump& jump : timeline.loop_jumps) {
      const bool is_first = jump.to_node == first_child_[jump.loop_node];
      if (is_first && !IsNewForward(jump)) starts_over_[jump.loop_node] = true;
    }
    FindLoops(timeline, forward_begins);
    link_.resize(stacks_.size(), 0);
    for (uint32_t node = 1; node < stacks_.size(); ++node) {  // parents come first
      const uint32_t parent = stacks_.parent[node].value;
      link_[node] = IsModuleCall(node) || LoopOf(node) != 0 ? node : link_[parent];
    }
  }

  /// Calls a module, and is the first of the frames that do so.
  bool IsModuleCall(uint32_t node) const { return call_above_[node] == node; }
  /// Whether a jump calls a model again.
  bool StartsForward(const LoopJump& jump) const { return call_above_[jump.loop_node] == 0 || IsNewForward(jump); }
  /// Whether a jump calls a module again inside of a forward, or goes on in a loop of one.
  bool IsRepeat(const LoopJump& jump) const {
    if (StartsForward(jump) || is_below_compiled_[jump.to_node]) return false;
    if (jump.to_node == first_child_[jump.loop_node]) return true;
    // A line before the last one is also where an expression of many lines goes on, and where a context ends.
    const bool calls_modules = calls_modules_[jump.from_node] || calls_modules_[jump.to_node];
    return !starts_over_[jump.loop_node] && calls_modules && IsAlloc(jump.seq);
  }
  /// The node whose jumps number the calls of `node` by its caller; 0: they are not repeated.
  uint32_t LoopOf(uint32_t node) const {
    const uint32_t counter = counter_of_place_[stacks_.parent[node].value];
    if (counter == 0) return 0;
    if (counter != stacks_.parent[node].value) return counter;
    const Loop& loop = loops_[counter];
    const uint32_t frame = stacks_.frame[node].value;
    const bool is_between = frames_.line[frame] >= loop.first_line && frames_.line[frame] <= loop.last_line;
    return loop.has_other_functions || !IsSameFunction(frame, loop.frame) || is_between ? counter : 0;
  }
  /// The loop node whose jumps those of `loop_node` are.
  uint32_t CounterOf(uint32_t loop_node) const { return counter_[loop_node]; }
  /// Jumps of a loop node that make one call.
  uint32_t JumpsPerCall(uint32_t loop_node) const { return loops_[loop_node].jumps_per_call; }
  /// Nodes that matter, `stack` itself first; 0 ends them.
  uint32_t Innermost(uint32_t stack) const { return link_[stack]; }
  uint32_t NextOutwards(uint32_t node) const { return link_[stacks_.parent[node].value]; }
  uint32_t Parent(uint32_t node) const { return stacks_.parent[node].value; }

 private:
  /// Lines of one function between which its calls start over. What lies before and after them is no part of the loop.
  struct Loop {
    bool is_loop = false;
    bool has_other_functions = false;
    uint32_t frame = 0;
    uint32_t first_line = UINT32_MAX;
    uint32_t last_line = 0;
    uint32_t jumps_per_call = 1;
    uint32_t most_jumps = 0;           // in one call of what is around
    uint32_t series_count = 0;         // of jumps from the first on
    std::vector<uint32_t> from_nodes;  // of the first series
  };

  bool IsSameFunction(uint32_t a, uint32_t b) const {
    return frames_.function[a] == frames_.function[b] && frames_.file[a] == frames_.file[b];
  }

  bool IsAlloc(uint32_t seq) const { return store_.events.kind[heap_.events.begin + seq] == EventKind::kAlloc; }

  void FindModuleCalls(const Store& store) {
    std::vector<bool> calls_module(frames_.size(), false);
    is_container_.resize(frames_.size(), false);
    is_compiled_.resize(frames_.size(), false);
    for (uint32_t frame = 0; frame < frames_.size(); ++frame) {
      const std::string_view file = store.String(frames_.file[frame]);
      is_compiled_[frame] = file.find("torch/_functorch/") != std::string_view::npos ||
                            file.find("torch/_inductor/") != std::string_view::npos;
      const bool is_module_file = file.ends_with("torch/nn/modules/module.py");
      calls_module[frame] = is_module_file && store.String(frames_.function[frame]).ends_with("_call_impl");
      is_container_[frame] = file.ends_with("torch/nn/modules/container.py");
    }
    call_above_.resize(stacks_.size(), 0);
    is_below_compiled_.resize(stacks_.size(), false);
    for (uint32_t node = 1; node < stacks_.size(); ++node) {
      const uint32_t parent = stacks_.parent[node].value;
      const uint32_t frame = stacks_.frame[node].value;
      const bool is_first = calls_module[frame] && (parent == 0 || !calls_module[stacks_.frame[parent].value]);
      call_above_[node] = is_first ? node : call_above_[parent];
      is_below_compiled_[node] = is_below_compiled_[parent] || is_compiled_[frame];
    }
  }

  void FindChildren(const Store& store, const Heap& heap) {
    first_child_.resize(stacks_.size(), 0);
    last_child_.resize(stacks_.size(), 0);
    has_one_child_.resize(stacks_.size(), false);
    calls_modules_.resize(stacks_.size(), false);
    std::vector<bool> is_seen(stacks_.size(), false);
    for (uint32_t row = heap.events.begin; row < heap.events.end; ++row) {
      for (uint32_t node = calls_.NodeOf(store.events.stack[row]); node != 0 && !is_seen[node];) {
        is_seen[node] = true;
        AddChild(stacks_.parent[node].value, node);
        node = stacks_.parent[node].value;
      }
    }
    for (uint32_t node = static_cast<uint32_t>(stacks_.size()); node-- > 1;) {
      const bool calls = calls_modules_[node] || IsModuleCall(node);
      if (calls) calls_modules_[stacks_.parent[node].value] = true;
    }
  }

  void AddChild(uint32_t parent, uint32_t node) {
    has_one_child_[parent] = first_child_[parent] == 0;
    if (first_child_[parent] == 0) first_child_[parent] = node;
    uint32_t& last = last_child_[parent];
    if (last == 0 || frames_.line[stacks_.frame[node].value] > frames_.line[stacks_.frame[last].value]) last = node;
  }

  // Where the calls of each model, or of a function that a backward runs again, first differ.
  void FindModels() {
    is_model_.resize(stacks_.size(), false);
    for (uint32_t node = 1; node < stacks_.size(); ++node) {
      if (!IsModuleCall(node) || call_above_[stacks_.parent[node].value] != 0) continue;
      uint32_t at = node;
      while (has_one_child_[at] && !is_container_[stacks_.frame[at].value]) at = first_child_[at];
      is_model_[at] = !is_container_[stacks_.frame[at].value];
    }
  }

  // A model that goes from its last line or to its first one is called by the program again, or by a backward.
  bool IsNewForward(const LoopJump& jump) const {
    const uint32_t node = jump.loop_node;
    return is_model_[node] && (jump.to_node == first_child_[node] || jump.from_node == last_child_[node]);
  }

  void FindLoops(const Timeline& timeline, std::span<const uint32_t> forward_begins) {
    JumpCounter counter(stacks_);
    std::vector<uint32_t> found;
    auto begin = forward_begins.begin();
    for (const LoopJump& jump : timeline.loop_jumps) {
      bool starts_forward = false;
      for (; begin != forward_begins.end() && *begin <= jump.seq; ++begin) {
        counter.StartOver(0);
        starts_forward = *begin == jump.seq;
      }
      if (!RunsModules(timeline.phase_of_event[jump.seq]) || starts_forward) continue;
      if (StartsForward(jump)) counter.StartOver(0);
      if (!IsRepeat(jump)) continue;
      counter.Add(jump.loop_node);
      if (!loops_[jump.loop_node].is_loop) found.push_back(jump.loop_node);
      AddJump(jump, counter.Count(jump.loop_node));
    }
    counter_.resize(stacks_.size());
    for (uint32_t node = 0; node < stacks_.size(); ++node) counter_[node] = node;
    for (const uint32_t node : found) FindPlace(node);
  }

  void AddJump(const LoopJump& jump, uint32_t count) {
    constexpr size_t kMostCompared = 512;
    Loop& loop = loops_[jump.loop_node];
    const uint32_t from = stacks_.frame[jump.from_node].value;
    const uint32_t to = stacks_.frame[jump.to_node].value;
    loop.is_loop = true;
    loop.frame = to;
    loop.has_other_functions = loop.has_other_functions || !IsSameFunction(from, to);
    loop.first_line = std::min(loop.first_line, frames_.line[to]);
    loop.last_line = std::max(loop.last_line, frames_.line[from]);
    loop.most_jumps = std::max(loop.most_jumps, count);
    if (count == 1) ++loop.series_count;
    if (loop.series_count <= 1 && loop.from_nodes.size() < kMostCompared) loop.from_nodes.push_back(jump.from_node);
  }

  // A module whose first part is called again is itself called again, if nothing else is called from the same place;
  // one that does everything in a line jumps more than once a call.
  void FindPlace(uint32_t loop_node) {
    Loop& loop = loops_[loop_node];
    loop.jumps_per_call = ShortestPeriod(loop.from_nodes);
    loop.from_nodes = {};
    // Two calls of one kind in a line are no loop yet. A container that calls modules of different kinds does not show
    // which of them it calls.
    const uint32_t caller = stacks_.parent[call_above_[loop_node]].value;
    const bool is_of_container = caller != 0 && is_container_[stacks_.frame[caller].value];
    if (loop.has_other_functions && (is_of_container || loop.most_jumps < 2)) return;
    uint32_t place = loop_node;
    uint32_t top = loop_node;
    while (starts_over_[loop_node] && call_above_[stacks_.parent[top].value] != 0) {
      const uint32_t parent = stacks_.parent[top].value;
      if (!has_one_child_[parent] || is_container_[stacks_.frame[parent].value]) break;
      if (IsModuleCall(top)) place = parent;
      top = parent;
    }
    // A loop around may see its calls only sometimes, when it does something of its own between them.
    const uint32_t around = stacks_.parent[top].value;
    if (place != loop_node && loops_[around].is_loop) {
      counter_[loop_node] = around;
    } else if (counter_of_place_[place] == 0) {
      counter_of_place_[place] = loop_node;
    }
  }

  static uint32_t ShortestPeriod(const std::vector<uint32_t>& values) {
    constexpr uint32_t kLongest = 8;
    for (uint32_t period = 1; period <= kLongest && period * 3 <= values.size() + 1; ++period) {
      if (std::equal(values.begin() + period, values.end(), values.begin())) return period;
    }
    return 1;
  }

  const Store& store_;
  const Heap& heap_;
  const PythonCalls& calls_;
  const StackTable& stacks_;
  const FrameTable& frames_;
  std::vector<bool> is_container_;       // by frame: calls one module after the other
  std::vector<bool> is_compiled_;        // by frame: calls what a compiler made
  std::vector<bool> is_below_compiled_;  // by node
  std::vector<uint32_t> call_above_;     // the innermost module call of each node, itself included
  std::vector<bool> calls_modules_;      // by node: module calls lie below it
  std::vector<uint32_t> first_child_;    // by node, of its events in order
  std::vector<uint32_t> last_child_;     // by line
  std::vector<bool> is_model_;           // by node: where the calls of a model first differ
  std::vector<bool> starts_over_;        // by node: calls again what it called first
  std::vector<bool> has_one_child_;
  std::vector<uint32_t> counter_;           // by loop node
  std::vector<Loop> loops_;                 // by node
  std::vector<uint32_t> counter_of_place_;  // by node: the loop node whose jumps count the calls from here
  std::vector<uint32_t> link_;              // the innermost node that matters, itself included
};

class CallCounter {
 public:
  CallCounter(const Store& store, const Heap& heap, const Timeline& timeline, const PythonCalls& calls)
      : store_(store),
        heap_(heap),
        timeline_(timeline),
        python_(calls),
        forward_begins_(FindForwardBegins(store, heap, timeline)),
        nodes_(store, heap, timeline, calls, forward_begins_),
        counter_(calls.stacks()) {
    calls_.scopes.emplace_back();
    calls_.scope_of_row.resize(heap.allocations.size(), 0);
  }

  ModuleCalls Run() {
    auto jump = timeline_.loop_jumps.begin();
    auto begin = forward_begins_.begin();
    for (uint32_t seq = 0; seq < heap_.events.size(); ++seq) {
      while (jump != timeline_.loop_jumps.end() && jump->seq < seq) ++jump;
      if (begin != forward_begins_.end() && *begin == seq) {
        counter_.StartOver(0);
        ++begin;
      } else if (jump != timeline_.loop_jumps.end() && jump->seq == seq) {
        Follow(*jump);
      }
      const uint32_t row = heap_.events.begin + seq;
      const uint32_t allocation = store_.events.allocation[row];
      const bool is_alloc = store_.events.kind[row] == EventKind::kAlloc && allocation != kNone;
      if (!is_alloc || !RunsModules(timeline_.phase_of_event[seq])) continue;
      calls_.scope_of_row[allocation - heap_.allocations.begin] = ScopeOf(python_.NodeOf(store_.events.stack[row]));
    }
    return std::move(calls_);
  }

 private:
  struct ScopeKey {
    uint32_t parent, node, index;
    bool operator==(const ScopeKey&) const = default;
  };
  struct ScopeKeyHash {
    using is_avalanching = void;
    size_t operator()(const ScopeKey& key) const { return HashBytes(&key, sizeof key); }
  };

  void Follow(const LoopJump& jump) {
    if (nodes_.StartsForward(jump)) counter_.StartOver(0);
    if (nodes_.IsRepeat(jump)) counter_.Add(nodes_.CounterOf(jump.loop_node));
  }

  uint32_t ScopeOf(uint32_t stack) {
    path_.clear();
    for (uint32_t node = nodes_.Innermost(stack); node != 0; node = nodes_.NextOutwards(node)) path_.push_back(node);
    uint32_t scope = 0;
    for (size_t i = path_.size(); i-- > 0;) {
      const uint32_t loop = nodes_.LoopOf(path_[i]);
      const uint32_t caller = nodes_.Parent(path_[i]);
      const bool is_call = nodes_.IsModuleCall(path_[i]);
      // Of a place from which one module is called again and again the number comes after the place.
      if (is_call && loop != caller) scope = Intern({scope, caller, kNone});
      if (loop != 0) scope = Intern({scope, loop, counter_.Count(loop) / nodes_.JumpsPerCall(loop)});
      if (is_call && loop == caller) scope = Intern({scope, caller, kNone});
    }
    return scope;
  }

  uint32_t Intern(const ScopeKey& key) {
    const auto [found, is_new] = ids_.try_emplace(key, static_cast<uint32_t>(calls_.scopes.size()));
    if (is_new) calls_.scopes.push_back({key.parent, key.node, key.index});
    return found->second;
  }

  const Store& store_;
  const Heap& heap_;
  const Timeline& timeline_;
  const PythonCalls& python_;
  const std::vector<uint32_t> forward_begins_;
  const PathNodes nodes_;
  JumpCounter counter_;
  std::vector<uint32_t> path_;
  FlatMap<ScopeKey, uint32_t, ScopeKeyHash> ids_;
  ModuleCalls calls_;
};

}  // namespace

uint32_t ModuleCalls::LayerOf(uint32_t scope) const {
  uint32_t layer = 0;
  for (; scope != 0; scope = scopes[scope].parent) {
    if (scopes[scope].index != kNone) layer = scope;
  }
  return layer;
}

ModuleCalls FindModuleCalls(const Store& store, const Heap& heap, const Timeline& timeline, const PythonCalls& calls) {
  return CallCounter(store, heap, timeline, calls).Run();
}

}  // namespace memstrata
