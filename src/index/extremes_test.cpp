#include "index/extremes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace memstrata {
namespace {

TEST(RangeExtremes, AgreesWithReadingTheRange) {
  std::mt19937 random(7);
  for (const size_t size : {size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{4096}, size_t{300'001}}) {
    std::vector<uint64_t> values(size);
    for (uint64_t& value : values) value = random() % 50;  // many equal ones: the first must win
    const RangeExtremes extremes(values);
    for (int i = 0; i < 300; ++i) {
      uint32_t begin = static_cast<uint32_t>(random() % size);
      uint32_t end = static_cast<uint32_t>(random() % size) + 1;
      if (begin >= end) std::swap(begin, --end), ++end;
      const auto [low, high] = std::pair(std::min_element(values.begin() + begin, values.begin() + end),
                                         std::max_element(values.begin() + begin, values.begin() + end));
      const Extremes found = extremes.Find(begin, end);
      ASSERT_EQ(found.min, *low) << size << " " << begin << " " << end;
      ASSERT_EQ(found.max, *high) << size << " " << begin << " " << end;
      ASSERT_EQ(found.max_index, high - values.begin()) << size << " " << begin << " " << end;
    }
  }
}

}  // namespace
}  // namespace memstrata
