#pragma once
// Weighted call paths as a tree for a flame graph: bytes of a node are its own plus those of its children, exactly.
//
//   FlameTree tree(group_count);
//   tree.Add(path of keys from the root, bytes, block_count, group, stack);
//   std::vector<FlameNode> nodes = tree.Finish(5000);

#include <cstdint>
#include <span>
#include <vector>

#include "base/flat_map.h"
#include "model/table/id.h"

namespace memstrata {

struct FlameNode {
  uint32_t parent = kNone;
  uint32_t depth = 0;
  uint32_t key = 0;        // what the caller put into the path; of the root and of merged nodes: meaningless
  bool is_merged = false;  // the smaller siblings of a parent together
  uint32_t group = 0;      // the one with the most bytes in it
  uint32_t stack = kNone;  // the stack that ends here, where it is exactly one
  uint64_t bytes = 0;
  uint64_t self_bytes = 0;
  uint64_t block_count = 0;
};

class FlameTree {
 public:
  explicit FlameTree(uint32_t group_count);

  void Add(std::span<const uint32_t> path, uint64_t bytes, uint64_t block_count, uint32_t group, uint32_t stack);
  /// Parents before children, siblings by bytes falling. At most about `max_node_count` nodes stay; what is smaller is
  /// one merged sibling per parent. cost: O(nodes log nodes)
  std::vector<FlameNode> Finish(size_t max_node_count);
  /// Nodes that Finish() put into merged ones.
  uint32_t merged_count() const { return merged_count_; }
  uint64_t block_count() const { return nodes_.front().block_count; }
  uint64_t bytes() const { return nodes_.front().bytes; }

 private:
  uint32_t Child(uint32_t parent, uint32_t key);

  uint32_t group_count_;
  std::vector<FlameNode> nodes_;
  std::vector<uint64_t> group_bytes_;  // [node * group_count + group]
  FlatMap<uint64_t, uint32_t> children_;
  uint32_t merged_count_ = 0;
};

}  // namespace memstrata
