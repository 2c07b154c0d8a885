#include "analysis/phases/forward_pattern.h"

#include <algorithm>

namespace memstrata {
namespace {

constexpr size_t kLength = 4;

// Statistics and the like, which an evaluation does not save, are a smaller part of the largest block.
constexpr uint64_t kPartForRatios = 256;

// A batch that is smaller than the smallest by more is chance, as the partial sums of norms.
constexpr uint64_t kMostSmaller = 128;

std::vector<uint32_t> Allocs(const OrderEvents& events, uint32_t begin, uint32_t end, uint64_t min_bytes) {
  std::vector<uint32_t> allocs;
  for (uint32_t i = begin; i < end; ++i) {
    if (events[i].is_alloc && events[i].size_bytes >= min_bytes) allocs.push_back(i);
  }
  return allocs;
}

using Window = std::span<const uint32_t>;

std::vector<Window> WindowsOf(const std::vector<uint32_t>& allocs) {
  std::vector<Window> windows;
  for (size_t i = 0; i + kLength <= allocs.size(); ++i) windows.emplace_back(&allocs[i], kLength);
  return windows;
}

// The first of windows that starts a forward and whose followers mostly go on like one; its first allocation.
template <class Starts, class Continues>
std::optional<uint32_t> FindStretch(const std::vector<Window>& windows, Starts starts, Continues continues) {
  constexpr size_t kStretch = 12;
  for (size_t i = 0; i < windows.size(); ++i) {
    if (!starts(windows[i])) continue;
    const size_t end = std::min(windows.size(), i + kStretch);
    size_t fitting = 0;
    for (size_t k = i; k < end; ++k) fitting += continues(windows[k]) ? 1 : 0;
    if (fitting * 2 >= end - i) return windows[i].front();
  }
  return std::nullopt;
}

uint64_t Mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x9E3779B97F4A7C15ULL; }

uint64_t HashSizes(const OrderEvents& events, std::span<const uint32_t> allocs) {
  uint64_t hash = 0;
  for (const uint32_t index : allocs) hash = Mix(hash, events[index].size_bytes);
  return hash;
}

uint64_t HashRatios(const OrderEvents& events, std::span<const uint32_t> allocs) {
  constexpr double kResolution = 1 << 16;
  uint64_t hash = 0;
  const auto first = static_cast<double>(events[allocs[0]].size_bytes);
  for (const uint32_t index : allocs)
    hash = Mix(hash, static_cast<uint64_t>(static_cast<double>(events[index].size_bytes) / first * kResolution));
  return hash;
}

size_t DistinctCount(const OrderEvents& events, std::span<const uint32_t> allocs) {
  std::vector<uint64_t> sizes;
  for (const uint32_t index : allocs) sizes.push_back(events[index].size_bytes);
  std::sort(sizes.begin(), sizes.end());
  return static_cast<size_t>(std::unique(sizes.begin(), sizes.end()) - sizes.begin());
}

}  // namespace

ForwardPattern::ForwardPattern(const OrderEvents& events, std::span<const BackwardPass> passes,
                               const FlatMap<uint64_t, uint32_t>& known_sizes)
    : events_(events), known_sizes_(known_sizes) {
  for (const BackwardPass& pass : passes) {
    const std::vector<uint32_t> all = Allocs(events, pass.forward_begin, pass.begin, kScalarBytes + 1);
    for (const Window window : WindowsOf(all)) sizes_[HashSizes(events, window)] = true;
    for (const uint32_t index : all) {
      const uint64_t size_bytes = events[index].size_bytes;
      if (!known_sizes.contains(size_bytes) && !known_sizes.contains(size_bytes * 2)) own_sizes_[size_bytes] = true;
    }
    // An activation may have the size of a weight in one batch and another in the next.
    for (const bool with_known : {false, true}) {
      const std::vector<uint32_t> large = OfActivations(pass.forward_begin, pass.begin, with_known);
      for (const Window window : WindowsOf(large)) {
        const uint64_t first_bytes = events[window.front()].size_bytes;
        const auto [known, is_new] = ratios_.try_emplace(HashRatios(events, window), first_bytes);
        if (!is_new) known->second = std::min(known->second, first_bytes);
      }
    }
  }
}

// Blocks that grow with the batch: weights, their copies in half the precision, and workspaces do not.
std::vector<uint32_t> ForwardPattern::OfActivations(uint32_t begin, uint32_t end, bool with_known) const {
  std::vector<uint32_t> allocs = Allocs(events_, begin, end, kScalarBytes + 1);
  std::erase_if(allocs, [&](uint32_t index) {
    const uint64_t size_bytes = events_[index].size_bytes;
    const bool is_known = !with_known && (known_sizes_.contains(size_bytes) || known_sizes_.contains(size_bytes * 2));
    return is_known || events_[index].free_index == index + 1;
  });
  uint64_t largest = 0;
  for (const uint32_t index : allocs) largest = std::max(largest, events_[index].size_bytes);
  std::erase_if(allocs, [&](uint32_t index) { return events_[index].size_bytes < largest / kPartForRatios; });
  return allocs;
}

uint32_t ForwardPattern::FindFirst(uint32_t begin, uint32_t end) const {
  const auto known_count = [&](Window window) {
    return static_cast<size_t>(std::count_if(window.begin(), window.end(), [&](uint32_t index) {
      return known_sizes_.contains(events_[index].size_bytes);
    }));
  };
  const std::vector<uint32_t> all = Allocs(events_, begin, end, kScalarBytes + 1);
  const auto is_exact = [&](Window window) { return sizes_.contains(HashSizes(events_, window)); };
  const auto exact = FindStretch(
      WindowsOf(all), [&](Window window) { return known_count(window) * 2 <= kLength && is_exact(window); }, is_exact);
  const std::vector<uint32_t> large = OfActivations(begin, end, false);
  const auto is_scaled = [&](Window window) {
    const auto known = ratios_.find(HashRatios(events_, window));
    return known != ratios_.end() && events_[window.front()].size_bytes * kMostSmaller >= known->second;
  };
  const auto scaled = FindStretch(
      WindowsOf(large), [&](Window window) { return DistinctCount(events_, window) >= 2 && is_scaled(window); },
      is_scaled);
  return std::min({exact.value_or(end), scaled.value_or(end), FindOwnSizes(all).value_or(end)});
}

// An evaluation may give back at once what a forward keeps: then the order of the others is another one, and their
// sizes are the same. A few of them are chance.
std::optional<uint32_t> ForwardPattern::FindOwnSizes(const std::vector<uint32_t>& allocs) const {
  constexpr size_t kFewestSizes = 3;
  const auto is_own = [&](Window window) { return own_sizes_.contains(events_[window.front()].size_bytes); };
  FlatMap<uint64_t, bool> seen;
  for (const uint32_t index : allocs) {
    if (own_sizes_.contains(events_[index].size_bytes)) seen[events_[index].size_bytes] = true;
  }
  if (seen.size() < kFewestSizes || seen.size() * 2 < own_sizes_.size()) return std::nullopt;
  return FindStretch(
      WindowsOf(allocs), [&](Window window) { return DistinctCount(events_, window) >= 2 && is_own(window); }, is_own);
}

}  // namespace memstrata
