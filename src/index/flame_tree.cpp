#include "index/flame_tree.h"

#include <algorithm>

namespace memstrata {
namespace {

constexpr uint32_t kSeveralStacks = kNone - 1;  // while building: more than one stack ends here

}  // namespace

FlameTree::FlameTree(uint32_t group_count) : group_count_(std::max(1U, group_count)) {
  nodes_.emplace_back();
  group_bytes_.assign(group_count_, 0);
}

uint32_t FlameTree::Child(uint32_t parent, uint32_t key) {
  const auto [entry, is_new] =
      children_.try_emplace(uint64_t{parent} << 32 | key, static_cast<uint32_t>(nodes_.size()));
  if (is_new) {
    nodes_.push_back({.parent = parent, .depth = nodes_[parent].depth + 1, .key = key});
    group_bytes_.resize(nodes_.size() * group_count_, 0);
  }
  return entry->second;
}

void FlameTree::Add(std::span<const uint32_t> path, uint64_t bytes, uint64_t block_count, uint32_t group,
                    uint32_t stack) {
  uint32_t at = 0;
  const auto count = [&] {
    nodes_[at].bytes += bytes;
    nodes_[at].block_count += block_count;
    group_bytes_[size_t{at} * group_count_ + group] += bytes;
  };
  count();
  for (const uint32_t key : path) {
    at = Child(at, key);
    count();
  }
  nodes_[at].self_bytes += bytes;
  uint32_t& known = nodes_[at].stack;
  known = known == kNone || known == stack ? stack : kSeveralStacks;
}

std::vector<FlameNode> FlameTree::Finish(size_t max_node_count) {
  for (size_t node = 0; node < nodes_.size(); ++node) {
    const auto* groups = &group_bytes_[node * group_count_];
    nodes_[node].group = static_cast<uint32_t>(std::max_element(groups, groups + group_count_) - groups);
    if (nodes_[node].stack == kSeveralStacks) nodes_[node].stack = kNone;
  }
  // The largest stay. A node is never larger than its parent and comes after it, so parents stay with their children.
  std::vector<uint32_t> order(nodes_.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return nodes_[a].bytes != nodes_[b].bytes ? nodes_[a].bytes > nodes_[b].bytes : a < b;
  });
  const size_t kept_count = std::min(order.size(), std::max<size_t>(1, max_node_count));
  std::vector<std::vector<uint32_t>> children(nodes_.size());
  for (size_t i = 1; i < order.size(); ++i) {
    if (i < kept_count) children[nodes_[order[i]].parent].push_back(order[i]);
  }
  std::vector<FlameNode> merged(nodes_.size());  // by parent
  for (size_t i = kept_count; i < order.size(); ++i) {
    ++merged_count_;
    const FlameNode& node = nodes_[order[i]];
    FlameNode& sum = merged[node.parent];
    if (node.bytes > sum.bytes || !sum.is_merged) sum.group = node.group;
    sum.is_merged = true;
    sum.bytes += node.bytes;
    sum.block_count += node.block_count;
  }
  std::vector<FlameNode> result;
  std::vector<uint32_t> new_index(nodes_.size(), kNone);
  std::vector<uint32_t> queue = {0};
  for (size_t i = 0; i < queue.size(); ++i) {
    FlameNode node = nodes_[queue[i]];
    node.parent = node.parent == kNone ? kNone : new_index[node.parent];
    new_index[queue[i]] = static_cast<uint32_t>(result.size());
    result.push_back(node);
    queue.insert(queue.end(), children[queue[i]].begin(), children[queue[i]].end());
  }
  // Merged siblings come last: they are what is smaller, and parents stay before children.
  for (const uint32_t parent : queue) {
    FlameNode& sum = merged[parent];
    if (!sum.is_merged) continue;
    sum.parent = new_index[parent];
    sum.depth = nodes_[parent].depth + 1;
    sum.self_bytes = sum.bytes;
    result.push_back(sum);
  }
  return result;
}

}  // namespace memstrata
