#include "index/extremes.h"

#include <algorithm>

namespace memstrata {
namespace {

constexpr uint32_t kShift = 6;
constexpr uint32_t kFanOut = 1U << kShift;

}  // namespace

struct RangeExtremes::Best {
  uint64_t min = UINT64_MAX;
  uint64_t max = 0;
  size_t level = 0;
  uint32_t index = 0;
  uint64_t position = UINT64_MAX;  // of its first value: the first of equal ones wins
};

RangeExtremes::RangeExtremes(std::span<const uint64_t> values) : values_(values) {
  const auto add_level = [this](size_t count, const auto& node_at) {
    std::vector<Node> nodes;
    nodes.reserve(count / kFanOut + 1);
    for (size_t begin = 0; begin < count; begin += kFanOut) {
      Node node = node_at(begin);
      const size_t end = std::min<size_t>(count, begin + kFanOut);
      for (size_t i = begin + 1; i < end; ++i) {
        const Node child = node_at(i);
        node.min = std::min(node.min, child.min);
        node.max = std::max(node.max, child.max);
      }
      nodes.push_back(node);
    }
    levels_.push_back(std::move(nodes));
  };
  if (values.size() > kFanOut) add_level(values.size(), [values](size_t i) { return Node{values[i], values[i]}; });
  while (!levels_.empty() && levels_.back().size() > kFanOut) {
    const std::vector<Node>& below = levels_.back();
    add_level(below.size(), [&below](size_t i) { return below[i]; });
  }
}

RangeExtremes::Node RangeExtremes::At(size_t level, uint32_t index) const {
  return level == 0 ? Node{values_[index], values_[index]} : levels_[level - 1][index];
}

void RangeExtremes::Scan(size_t level, uint32_t begin, uint32_t end, Best& best) const {
  for (uint32_t i = begin; i < end; ++i) {
    const Node node = At(level, i);
    best.min = std::min(best.min, node.min);
    const uint64_t position = uint64_t{i} << (kShift * level);
    if (node.max > best.max || (node.max == best.max && position < best.position)) {
      best.max = node.max;
      best.level = level;
      best.index = i;
      best.position = position;
    }
  }
}

Extremes RangeExtremes::Find(uint32_t begin, uint32_t end) const {
  Best best;
  size_t level = 0;
  // Whole nodes in the middle are left to the next level; the ragged ends are read here.
  for (; level < levels_.size(); ++level) {
    const uint32_t inner_begin = (begin + kFanOut - 1) >> kShift;
    const uint32_t inner_end = end >> kShift;
    if (inner_begin >= inner_end) break;
    Scan(level, begin, inner_begin << kShift, best);
    Scan(level, inner_end << kShift, end, best);
    begin = inner_begin;
    end = inner_end;
  }
  Scan(level, begin, end, best);
  uint32_t index = best.index;
  for (size_t at = best.level; at > 0; --at) {
    index <<= kShift;
    while (At(at - 1, index).max != best.max) ++index;
  }
  return {best.min, best.max, index};
}

}  // namespace memstrata
