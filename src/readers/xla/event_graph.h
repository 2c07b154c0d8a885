#pragma once
// Events of all threads as a graph: an event's children are the events inside it in time and the work that it handed to
// other threads.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/flat_map.h"
#include "readers/xla/xspace.h"

namespace memstrata::xla {

inline constexpr uint32_t kNoNode = UINT32_MAX;
inline constexpr size_t kMostAncestors = 4096;

/// Names that decide what an event is for grouping.
enum class EventRole : uint8_t {
  kOther,
  kMemory,
  kExecutorProcess,
  kIteratorGetNext,
  kEagerKernel,
  kFunctionRun,
  kCapturedFunction
};

struct EventNode {
  const char* bytes = nullptr;  // of its message
  uint32_t size_bytes = 0;
  EventRole role = EventRole::kOther;
  bool has_root_level = false;
  bool has_id = false;
  bool has_iteration = false;
  int32_t root_level = 0;
  int64_t begin_ps = 0;  // from the profiler's time zero
  int64_t duration_ps = 0;
  int64_t id = 0;         // executor step ("id")
  int64_t iteration = 0;  // "iter_num"
  int64_t group = INT64_MIN;
  uint32_t first_child = kNoNode;  // → edges
  uint32_t last_child = kNoNode;
  uint32_t first_parent = kNoNode;
  uint32_t last_parent = kNoNode;
};

class EventGraph {
 public:
  /// Adds the events of a plane and nests those of each line.
  void AddPlane(const Plane& plane, ScratchBytes& bytes);
  void Connect(uint32_t parent, uint32_t child);
  /// Connects work to where it was handed over; returns how many pairs were left out because there are too many.
  uint64_t ConnectProducers();

  std::vector<EventNode>& nodes() { return nodes_; }
  const std::vector<EventNode>& nodes() const { return nodes_; }
  /// Calls `visit(other)` for each child (parent) of a node until it returns true; whether it did.
  template <class Visit>
  bool AnyChild(uint32_t node, Visit&& visit) const {
    return AnyEdge(nodes_[node].first_child, visit);
  }
  template <class Visit>
  bool AnyParent(uint32_t node, Visit&& visit) const {
    return AnyEdge(nodes_[node].first_parent, visit);
  }
  /// Calls `visit(ancestor)` breadth-first, the node itself first if `with_self`, until it returns true; whether it
  /// did. Looks at kMostAncestors at most: real events have tens.
  template <class Visit>
  bool AnyAncestor(uint32_t node, bool with_self, Visit&& visit) const;
  /// Gives `group` to the node and to everything below it that has none.
  void Propagate(uint32_t node, int64_t group);
  /// Whether a starts before b; of equal starts the longer one counts as earlier.
  bool Before(uint32_t a, uint32_t b) const {
    return nodes_[a].begin_ps != nodes_[b].begin_ps ? nodes_[a].begin_ps < nodes_[b].begin_ps
                                                    : nodes_[a].duration_ps > nodes_[b].duration_ps;
  }

 private:
  struct Edge {
    uint32_t node;
    uint32_t next;
  };
  struct Context {
    uint64_t type, id;
    bool operator==(const Context&) const = default;
  };
  struct ContextHash {
    using is_avalanching = void;
    size_t operator()(const Context& context) const { return HashBytes(&context, sizeof context); }
  };
  struct Handover {
    std::vector<uint32_t> producers, consumers;
  };
  struct EventStats;

  template <class Visit>
  bool AnyEdge(uint32_t edge, Visit&& visit) const {
    for (; edge != kNoNode; edge = edges_[edge].next) {
      if (visit(edges_[edge].node)) return true;
    }
    return false;
  }
  void Append(uint32_t& first, uint32_t& last, uint32_t node);
  EventNode ReadNode(std::string_view bytes, int64_t line_begin_ns, const Plane& plane, EventStats& stats) const;
  void AddLine(const Plane& plane, std::string_view line, ScratchBytes& bytes);

  std::vector<EventNode> nodes_;
  std::vector<Edge> edges_;
  FlatMap<Context, Handover, ContextHash> handovers_;
  std::vector<Context> handover_order_;
};

template <class Visit>
bool EventGraph::AnyAncestor(uint32_t node, bool with_self, Visit&& visit) const {
  if (with_self && visit(node)) return true;
  std::vector<uint32_t> queue{node};
  FlatMap<uint32_t, bool> seen{{node, true}};
  for (size_t i = 0; i < queue.size() && i < kMostAncestors; ++i) {
    const bool stop = AnyParent(queue[i], [&](uint32_t parent) {
      if (!seen.try_emplace(parent, true).second) return false;
      if (visit(parent)) return true;
      queue.push_back(parent);
      return false;
    });
    if (stop) return true;
  }
  return false;
}

}  // namespace memstrata::xla
