#include "readers/xla/event_order.h"

#include <algorithm>

#include "base/flat_map.h"

namespace memstrata::xla {
namespace {

// Edges by the value they start from; each list is taken from its front.
class Edges {
 public:
  explicit Edges(std::span<const HeapChange> changes) : order_(changes.size()) {
    for (uint32_t i = 0; i < changes.size(); ++i) order_[i] = i;
    std::stable_sort(order_.begin(), order_.end(),
                     [&](uint32_t a, uint32_t b) { return changes[a].before_bytes < changes[b].before_bytes; });
    for (uint32_t i = 0; i < order_.size(); ++i) {
      const auto [entry, is_new] = lists_.try_emplace(changes[order_[i]].before_bytes, List{i, i});
      entry->second.end = i + 1;
    }
  }
  /// The next unused event that starts from `value`, or UINT32_MAX.
  uint32_t Take(uint64_t value) {
    const auto found = lists_.find(value);
    if (found == lists_.end() || found->second.next == found->second.end) return UINT32_MAX;
    return order_[found->second.next++];
  }

 private:
  struct List {
    uint32_t next;
    uint32_t end;
  };
  std::vector<uint32_t> order_;
  FlatMap<uint64_t, List> lists_;
};

// Where a path over all edges must start: the value left once more often than it is reached, else that of the first.
uint64_t PathStart(std::span<const HeapChange> changes) {
  FlatMap<uint64_t, int64_t> balance;
  for (const HeapChange& change : changes) {
    ++balance[change.before_bytes];
    --balance[change.after_bytes];
  }
  for (const HeapChange& change : changes) {
    if (balance[change.before_bytes] == 1) return change.before_bytes;
  }
  return changes.front().before_bytes;
}

// Hierholzer: walk until stuck, step back, splice detours in. Empty when the path does not cover every event.
std::vector<uint32_t> EulerianPath(std::span<const HeapChange> changes, uint64_t start_bytes) {
  Edges edges(changes);
  std::vector<uint32_t> stack;
  std::vector<uint32_t> path;
  path.reserve(changes.size());
  const auto value = [&] { return stack.empty() ? start_bytes : changes[stack.back()].after_bytes; };
  while (true) {
    const uint32_t next = edges.Take(value());
    if (next != UINT32_MAX) {
      stack.push_back(next);
    } else if (stack.empty()) {
      break;
    } else {
      path.push_back(stack.back());
      stack.pop_back();
    }
  }
  std::reverse(path.begin(), path.end());
  bool holds = path.size() == changes.size();
  for (size_t i = 1; holds && i < path.size(); ++i) {
    holds = changes[path[i]].before_bytes == changes[path[i - 1]].after_bytes;
  }
  if (!holds) path.clear();
  return path;
}

std::vector<uint32_t> NearestOrder(std::span<const HeapChange> changes, uint64_t start_bytes) {
  Edges edges(changes);
  std::vector<uint32_t> order;
  std::vector<bool> used(changes.size());
  order.reserve(changes.size());
  uint32_t first_unused = 0;
  uint64_t value = start_bytes;
  while (order.size() < changes.size()) {
    uint32_t next = edges.Take(value);
    while (next != UINT32_MAX && used[next]) next = edges.Take(value);
    if (next == UINT32_MAX) {
      while (used[first_unused]) ++first_unused;
      next = first_unused;
    }
    used[next] = true;
    order.push_back(next);
    value = changes[next].after_bytes;
  }
  return order;
}

}  // namespace

std::vector<uint32_t> OrderOfEqualTimes(std::span<const HeapChange> changes, bool has_start, uint64_t start_bytes) {
  if (changes.empty()) return {};
  const uint64_t start = has_start ? start_bytes : PathStart(changes);
  std::vector<uint32_t> path = EulerianPath(changes, start);
  return path.empty() ? NearestOrder(changes, start) : path;
}

}  // namespace memstrata::xla
