#include "index/flame_tree.h"

#include <gtest/gtest.h>

#include <random>

namespace memstrata {
namespace {

void CheckSums(const std::vector<FlameNode>& nodes) {
  std::vector<uint64_t> children_bytes(nodes.size(), 0);
  for (size_t i = 1; i < nodes.size(); ++i) {
    ASSERT_LT(nodes[i].parent, i) << "parents come first";
    ASSERT_EQ(nodes[i].depth, nodes[nodes[i].parent].depth + 1);
    children_bytes[nodes[i].parent] += nodes[i].bytes;
  }
  for (size_t i = 0; i < nodes.size(); ++i) ASSERT_EQ(nodes[i].bytes, nodes[i].self_bytes + children_bytes[i]) << i;
}

TEST(FlameTree, NodesAreTheirOwnBytesPlusTheirChildren) {
  for (const size_t limit : {size_t{1}, size_t{2}, size_t{20}, size_t{100'000}}) {
    std::mt19937 random(11);
    FlameTree tree(4);
    uint64_t total_bytes = 0;
    for (int i = 0; i < 500; ++i) {
      std::vector<uint32_t> path(random() % 6);
      for (uint32_t& key : path) key = static_cast<uint32_t>(random() % 4);
      const uint64_t bytes = random() % 1000;
      total_bytes += bytes;
      tree.Add(path, bytes, 1, static_cast<uint32_t>(random() % 4), static_cast<uint32_t>(random() % 50));
    }
    const std::vector<FlameNode> nodes = tree.Finish(limit);
    EXPECT_EQ(nodes[0].bytes, total_bytes);
    EXPECT_EQ(nodes[0].block_count, 500U);
    CheckSums(nodes);
    EXPECT_LE(nodes.size(), 2 * limit);
    EXPECT_EQ(tree.merged_count() > 0, limit < 100'000);
  }
}

TEST(FlameTree, NamesTheStackOnlyWhereItIsOne) {
  FlameTree tree(1);
  tree.Add(std::vector<uint32_t>{1, 2}, 10, 1, 0, 7);
  tree.Add(std::vector<uint32_t>{1, 2}, 10, 1, 0, 7);
  tree.Add(std::vector<uint32_t>{1, 3}, 5, 1, 0, 8);
  tree.Add(std::vector<uint32_t>{1, 3}, 5, 1, 0, 9);
  const std::vector<FlameNode> nodes = tree.Finish(10);
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_EQ(nodes[2].stack, 7U);
  EXPECT_EQ(nodes[3].stack, kNone);
}

}  // namespace
}  // namespace memstrata
