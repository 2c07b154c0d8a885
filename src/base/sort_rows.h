#pragma once
// Stable sort of row numbers by a key, fast on rows that are a few ascending runs after each other, which is what the
// threads of a trace are: O(n log r) with r runs, O(n log n) at worst.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace memstrata {

/// Sorts `rows` by `key(row)`, keeping the order of rows with equal keys (natural merge sort).
template <class Key>
void SortRows(std::span<uint32_t> rows, Key&& key) {
  const auto before = [&](uint32_t a, uint32_t b) { return key(a) < key(b); };
  std::vector<ptrdiff_t> bounds{0};  // begins of the ascending runs, and the end
  for (size_t i = 1; i < rows.size(); ++i) {
    if (before(rows[i], rows[i - 1])) bounds.push_back(static_cast<ptrdiff_t>(i));
  }
  bounds.push_back(static_cast<ptrdiff_t>(rows.size()));
  if (bounds.size() <= 2) return;
  std::vector<uint32_t> merged(rows.size());
  while (bounds.size() > 2) {
    std::vector<ptrdiff_t> next{0};
    for (size_t i = 0; i + 1 < bounds.size(); i += 2) {
      const auto begin = rows.begin() + bounds[i];
      const auto middle = rows.begin() + bounds[i + 1];
      const auto end = i + 2 < bounds.size() ? rows.begin() + bounds[i + 2] : middle;
      std::merge(begin, middle, middle, end, merged.begin() + bounds[i], before);
      next.push_back(end - rows.begin());
    }
    std::copy(merged.begin(), merged.end(), rows.begin());
    bounds = std::move(next);
  }
}

}  // namespace memstrata
