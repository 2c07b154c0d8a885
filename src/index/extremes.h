#pragma once
// Lowest and highest value of any range of a column without reading the range: levels of nodes over 64 children each.

#include <cstdint>
#include <span>
#include <vector>

namespace memstrata {

struct Extremes {
  uint64_t min = 0;
  uint64_t max = 0;
  uint32_t max_index = 0;  // the first of equal highest values
};

class RangeExtremes {
 public:
  /// Refers to `values`, which must stay where they are. cost: O(n), memory n / 4 bytes
  explicit RangeExtremes(std::span<const uint64_t> values);

  /// Of values [begin, end), which must not be empty. cost: O(log n)
  Extremes Find(uint32_t begin, uint32_t end) const;

 private:
  struct Node {
    uint64_t min;
    uint64_t max;
  };
  struct Best;
  Node At(size_t level, uint32_t index) const;
  void Scan(size_t level, uint32_t begin, uint32_t end, Best& best) const;

  std::span<const uint64_t> values_;
  std::vector<std::vector<Node>> levels_;  // levels_[k] is level k + 1; level 0 is the values
};

}  // namespace memstrata
