#include "model/allocator/block_rounding.h"

#include <gtest/gtest.h>

namespace memstrata {
namespace {

TEST(BlockRounding, MultiplesOf512) {
  const BlockRounding rounding;
  EXPECT_EQ(rounding.BlockBytes(0), 0u);
  EXPECT_EQ(rounding.BlockBytes(1), 512u);
  EXPECT_EQ(rounding.BlockBytes(512), 512u);
  EXPECT_EQ(rounding.BlockBytes(513), 1024u);
  EXPECT_EQ(rounding.BlockBytes((1 << 20) + 1), (1u << 20) + 512);
}

TEST(BlockRounding, PowerOfTwoDivisions) {
  BlockRounding rounding;
  rounding.power2_divisions.fill(4);
  EXPECT_EQ(rounding.BlockBytes(1200), 1536u);  // not above 512 × 4: the plain rule
  EXPECT_EQ(rounding.BlockBytes(4096), 4096u);
  EXPECT_EQ(rounding.BlockBytes(4097), 5120u);  // 4096 + 4096 / 4
  EXPECT_EQ(rounding.BlockBytes(8191), 8192u);
}

TEST(BlockRounding, DivisionsDependOnTheSize) {
  BlockRounding rounding;
  rounding.power2_divisions[8] = 2;  // from 256 MiB
  const uint64_t mib = 1 << 20;
  EXPECT_EQ(rounding.BlockBytes(200 * mib + 1), 200 * mib + 512);
  EXPECT_EQ(rounding.BlockBytes(257 * mib), 384 * mib);
}

}  // namespace
}  // namespace memstrata
