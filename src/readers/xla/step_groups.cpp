#include "readers/xla/step_groups.h"

#include <algorithm>
#include <map>
#include <utility>

#include "model/store/xplane_events.h"
#include "readers/xla/event_graph.h"

namespace memstrata::xla {
namespace {

// With these operations in a trace XProf does not group at all.
constexpr std::string_view kLoopOps[] = {"WhileOp-EvalCond", "WhileOp-StartBody", "ForOp", "ParallelForOp",
                                         "ForeverOp"};

bool IsHostPlane(std::string_view name) { return name == "/host:CPU" || name.starts_with("/host:CPU ["); }

bool Contains(const NameTable& table, std::string_view name) {
  return std::find(table.names().begin(), table.names().end(), name) != table.names().end();
}

// Whether grouping could find anything: no own step numbers, no loop operations, something to start a step.
bool NeedsGrouping(const Space& space) {
  bool all_grouped = true;
  bool has_roots = false;
  for (const Plane& plane : space.planes) {
    for (const std::string_view op : kLoopOps) {
      if (Contains(plane.event_names, op)) return false;
    }
    const bool is_host = IsHostPlane(plane.name);
    if (is_host || plane.name.starts_with("/device:")) all_grouped &= Contains(plane.stat_names, "group_id");
    if (is_host)
      has_roots |= Contains(plane.stat_names, "_r") || Contains(plane.event_names, "TraceContext") ||
                   Contains(plane.stat_names, "iter_num");
  }
  return !all_grouped && has_roots;
}

using IterationKey = std::pair<int64_t, int64_t>;  // executor step, iteration

class Grouping {
 public:
  Grouping(const Space& space, ScratchBytes& bytes) {
    for (const Plane& plane : space.planes) {
      if (IsHostPlane(plane.name)) graph_.AddPlane(plane, bytes);
    }
  }

  StepGroups Run() {
    StepGroups groups;
    ConnectIterators();
    groups.skipped_connections = graph_.ConnectProducers();
    FindLoops();
    FindRoots();
    const std::vector<int64_t> steps = Number(roots_, true);
    const std::vector<int64_t> xprof_steps = loop_roots_.empty() ? steps : Number(loop_roots_, false);
    groups.differ = steps != xprof_steps;
    size_t i = 0;
    for (const EventNode& node : graph_.nodes()) {
      if (node.role == EventRole::kMemory) groups.Add({node.bytes, node.size_bytes}, {steps[i], xprof_steps[i]}), ++i;
    }
    return groups;
  }

 private:
  // The executor step and iteration of the event or of the nearest event around it.
  std::optional<IterationKey> IterationOf(uint32_t node) const {
    IterationKey key;
    const bool has_id = graph_.AnyAncestor(node, true, [&](uint32_t at) {
      key.first = nodes()[at].id;
      return nodes()[at].has_id;
    });
    const bool has_iteration = has_id && graph_.AnyAncestor(node, true, [&](uint32_t at) {
      key.second = nodes()[at].iteration;
      return nodes()[at].has_iteration;
    });
    if (!has_iteration) return std::nullopt;
    return key;
  }

  void ConnectIterators() {
    std::map<IterationKey, uint32_t> executors;
    for (uint32_t node = 0; node < nodes().size(); ++node) {
      if (nodes()[node].role != EventRole::kExecutorProcess) continue;
      if (const auto key = IterationOf(node)) executors[*key] = node;
    }
    for (uint32_t node = 0; node < nodes().size(); ++node) {
      if (nodes()[node].role != EventRole::kIteratorGetNext) continue;
      const auto key = IterationOf(node);
      const auto found = key ? executors.find(*key) : executors.end();
      if (found != executors.end()) graph_.Connect(found->second, node);
    }
  }

  // The first event of each iteration of a TensorFlow loop, with the others below it.
  void FindLoops() {
    std::map<int64_t, std::map<int64_t, std::vector<uint32_t>>> loops;
    for (uint32_t node = 0; node < nodes().size(); ++node) {
      if (nodes()[node].role != EventRole::kExecutorProcess) continue;
      if (const auto key = IterationOf(node)) loops[key->first][key->second].push_back(node);
    }
    for (const auto& [id, iterations] : loops) {
      if (iterations.size() == 1 && iterations.begin()->first == 0) continue;  // no loop
      for (const auto& [iteration, members] : iterations) {
        const uint32_t first = *std::min_element(members.begin(), members.end(),
                                                 [&](uint32_t a, uint32_t b) { return graph_.Before(a, b); });
        loop_roots_.push_back(first);
        for (const uint32_t member : members) {
          if (member != first) graph_.Connect(first, member);
        }
      }
    }
    std::stable_sort(loop_roots_.begin(), loop_roots_.end(),
                     [&](uint32_t a, uint32_t b) { return graph_.Before(a, b); });
  }

  void FindRoots() {
    uint32_t worker = kNoNode;  // the last eager kernel that ran a function
    for (uint32_t node = 0; node < nodes().size(); ++node) {
      EventNode& event = nodes()[node];
      if (event.role == EventRole::kEagerKernel) {
        if (graph_.AnyChild(node, [&](uint32_t child) { return nodes()[child].role == EventRole::kFunctionRun; })) {
          worker = node;
          event.root_level = 1;
          event.has_root_level = true;
        } else if (worker != kNoNode) {
          graph_.Connect(worker, node);
        }
      }
      if (nodes()[node].has_root_level) roots_.push_back(node);
    }
    std::stable_sort(roots_.begin(), roots_.end(), [&](uint32_t a, uint32_t b) {
      if (nodes()[a].root_level != nodes()[b].root_level) return nodes()[a].root_level > nodes()[b].root_level;
      return graph_.Before(a, b);
    });
  }

  // A root inside another one of its level starts no step of its own, nor does a function of an input pipeline.
  bool IsTopRoot(uint32_t root) const {
    const bool in_pipeline =
        graph_.AnyParent(root, [&](uint32_t parent) { return nodes()[parent].role == EventRole::kCapturedFunction; });
    return !in_pipeline && !graph_.AnyAncestor(root, false, [&](uint32_t above) {
      return nodes()[above].has_root_level && nodes()[above].root_level == nodes()[root].root_level;
    });
  }

  // The step of each memory event, in node order.
  std::vector<int64_t> Number(const std::vector<uint32_t>& roots, bool only_top) {
    for (EventNode& node : nodes()) node.group = INT64_MIN;
    int64_t next = 0;
    for (const uint32_t root : roots) {
      if (only_top && (nodes()[root].group != INT64_MIN || !IsTopRoot(root))) continue;
      graph_.Propagate(root, next++);
    }
    std::vector<int64_t> steps;
    for (const EventNode& node : nodes()) {
      if (node.role == EventRole::kMemory) steps.push_back(node.group);
    }
    return steps;
  }

  std::vector<EventNode>& nodes() { return graph_.nodes(); }
  const std::vector<EventNode>& nodes() const { return graph_.nodes(); }

  EventGraph graph_;
  std::vector<uint32_t> roots_;
  std::vector<uint32_t> loop_roots_;
};

}  // namespace

StepGroups GroupSteps(const Space& space, ScratchBytes& bytes) {
  static_assert(kNoStep == INT64_MIN);
  if (!NeedsGrouping(space)) return {};
  return Grouping(space, bytes).Run();
}

}  // namespace memstrata::xla
