#include "readers/xla/event_graph.h"

#include <algorithm>

#include "readers/xla/loading_walk.h"

namespace memstrata::xla {
namespace {

using protozero::tag_and_type;

// More pairs than this between the producers and consumers of one id are left out (XProf has such a limit too).
constexpr uint64_t kMostPairs = uint64_t{1} << 20;

EventRole RoleOf(std::string_view name) {
  if (name == "MemoryAllocation" || name == "MemoryDeallocation") return EventRole::kMemory;
  if (name == "ExecutorState::Process") return EventRole::kExecutorProcess;
  if (name == "IteratorGetNextOp::DoCompute" || name == "IteratorGetNextAsOptionalOp::DoCompute")
    return EventRole::kIteratorGetNext;
  if (name == "EagerKernelExecute") return EventRole::kEagerKernel;
  if (name == "FunctionRun") return EventRole::kFunctionRun;
  if (name.starts_with("InstantiatedCapturedFunction::")) return EventRole::kCapturedFunction;
  return EventRole::kOther;
}

int64_t EndPs(const EventNode& node) {
  int64_t end_ps = 0;
  return __builtin_add_overflow(node.begin_ps, node.duration_ps, &end_ps) ? INT64_MAX : end_ps;
}

}  // namespace

// The statistics of one event that connect it to others.
struct EventGraph::EventStats {
  std::optional<uint64_t> producer_type, producer_id, consumer_type, consumer_id;
  bool is_async = false;
};

void EventGraph::Append(uint32_t& first, uint32_t& last, uint32_t node) {
  const auto edge = static_cast<uint32_t>(edges_.size());
  edges_.push_back({node, kNoNode});
  if (first == kNoNode) {
    first = edge;
  } else {
    edges_[last].next = edge;
  }
  last = edge;
}

void EventGraph::Connect(uint32_t parent, uint32_t child) {
  Append(nodes_[parent].first_child, nodes_[parent].last_child, child);
  Append(nodes_[child].first_parent, nodes_[child].last_parent, parent);
}

EventNode EventGraph::ReadNode(std::string_view bytes, int64_t line_begin_ns, const Plane& plane,
                               EventStats& stats) const {
  EventNode node{.bytes = bytes.data(), .size_bytes = static_cast<uint32_t>(bytes.size())};
  std::string_view name;
  WireMessage message(bytes);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case tag_and_type(1, WireType::varint):
        name = plane.event_names.Name(message.get_int64());
        break;
      case tag_and_type(2, WireType::varint):
        node.begin_ps = static_cast<int64_t>(static_cast<uint64_t>(line_begin_ns) * 1000 + message.get_uint64());
        break;
      case tag_and_type(3, WireType::varint):
        node.duration_ps = message.get_int64();
        break;
      case tag_and_type(4, WireType::length_delimited): {
        const Stat stat = ReadStat(message.get_view());
        const std::string_view key = plane.stat_names.Name(stat.name_id);
        if (key == "_r") {
          node.root_level = static_cast<int32_t>(stat.bits);
          node.has_root_level = true;
        } else if (key == "_pt") {
          stats.producer_type = stat.bits;
        } else if (key == "_p") {
          stats.producer_id = stat.bits;
        } else if (key == "_ct") {
          stats.consumer_type = stat.bits;
        } else if (key == "_c") {
          stats.consumer_id = stat.bits;
        } else if (key == "_a") {
          stats.is_async = stat.bits != 0;
        } else if (key == "id") {
          node.id = static_cast<int64_t>(stat.bits);
          node.has_id = true;
        } else if (key == "iter_num") {
          node.iteration = static_cast<int64_t>(stat.bits);
          node.has_iteration = true;
        }
        break;
      }
      default:
        message.skip();
    }
  }
  node.role = RoleOf(name);
  if (name == "TraceContext" && !node.has_root_level) {
    node.root_level = 1;
    node.has_root_level = true;
  }
  return node;
}

void EventGraph::AddLine(const Plane& plane, std::string_view line, ScratchBytes& bytes) {
  const int64_t begin_ns = ReadLineHeader(line, bytes).begin_ns;
  const auto first = static_cast<uint32_t>(nodes_.size());
  std::vector<EventStats> stats;
  LoadingWalk walk(line, bytes);
  while (walk.NextEvent()) {
    EventStats of_event;
    // A damaged event cannot be grouped; the decoder of memory events counts it.
    (void)GuardMessage(0, [&] {
      nodes_.push_back(ReadNode(walk.payload(), begin_ns, plane, of_event));
      stats.push_back(of_event);
    });
  }
  std::vector<uint32_t> order;
  for (uint32_t node = first; node < nodes_.size(); ++node) order.push_back(node);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return Before(a, b); });
  std::vector<uint32_t> open;
  for (const uint32_t node : order) {
    const EventStats& of_event = stats[node - first];
    const auto handover = [&](uint64_t type, uint64_t id) -> Handover& {
      const auto [entry, is_new] = handovers_.try_emplace(Context{type, id});
      if (is_new) handover_order_.push_back({type, id});
      return entry->second;
    };
    if (of_event.producer_type && of_event.producer_id)
      handover(*of_event.producer_type, *of_event.producer_id).producers.push_back(node);
    if (of_event.consumer_type && of_event.consumer_id)
      handover(*of_event.consumer_type, *of_event.consumer_id).consumers.push_back(node);
    if (of_event.is_async) continue;
    while (!open.empty() && EndPs(nodes_[node]) > EndPs(nodes_[open.back()])) open.pop_back();
    if (!open.empty()) Connect(open.back(), node);
    open.push_back(node);
  }
}

void EventGraph::AddPlane(const Plane& plane, ScratchBytes& bytes) {
  for (const std::string_view line : plane.lines) AddLine(plane, line, bytes);
}

uint64_t EventGraph::ConnectProducers() {
  uint64_t skipped = 0;
  for (const Context& context : handover_order_) {
    const Handover& handover = handovers_.find(context)->second;
    const uint64_t pairs = uint64_t{handover.producers.size()} * handover.consumers.size();
    if (pairs > kMostPairs) {
      skipped += pairs;
      continue;
    }
    for (const uint32_t producer : handover.producers) {
      for (const uint32_t consumer : handover.consumers) Connect(producer, consumer);
    }
  }
  return skipped;
}

void EventGraph::Propagate(uint32_t node, int64_t group) {
  std::vector<uint32_t> queue{node};
  for (size_t i = 0; i < queue.size(); ++i) {
    if (nodes_[queue[i]].group != INT64_MIN) continue;
    nodes_[queue[i]].group = group;
    AnyChild(queue[i], [&](uint32_t child) {
      if (nodes_[child].group == INT64_MIN) queue.push_back(child);
      return false;
    });
  }
}

}  // namespace memstrata::xla
