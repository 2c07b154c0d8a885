#include "analysis/phases/cache_chains.h"

#include <algorithm>
#include <array>

#include "base/flat_map.h"

namespace memstrata {
namespace {

// One token of a cache of few heads has this many bytes; the ids of the tokens themselves grow by less.
constexpr uint64_t kSmallestPartBytes = 512;
// Between the new block and the free of the old one, other blocks of the same operator may come.
constexpr size_t kMostBetween = 8;

bool IsOfTraining(Phase phase) { return IsForward(phase) || IsBackward(phase) || IsUpdate(phase); }

/// The block that a block replaced, and by how much each block of the chain is larger than the one before.
struct Link {
  uint32_t previous = kNone;
  uint64_t part_bytes = 0;
  uint32_t length = 0;  // links up to here
};

class ChainFinder {
 public:
  ChainFinder(const Store& store, const Heap& heap, const std::vector<Phase>& phases)
      : store_(store), heap_(heap), phases_(phases) {}

  std::vector<CacheChain> Run(size_t fewest_blocks) {
    for (uint32_t seq = 0; seq < heap_.events.size(); ++seq) {
      const uint32_t event = heap_.events.begin + seq;
      const uint32_t row = store_.events.allocation[event];
      if (row == kNone || IsOfTraining(phases_[seq])) continue;
      if (store_.events.kind[event] == EventKind::kAlloc) {
        recent_[next_++ % recent_.size()] = row;
      } else if (store_.events.kind[event] == EventKind::kFreeRequested) {
        FindSuccessor(row, seq);
      }
    }
    return Chains(fewest_blocks);
  }

 private:
  // The youngest of the latest blocks that is larger than `row` as a cache with one part more would be.
  void FindSuccessor(uint32_t row, uint32_t free_seq) {
    const AllocationTable& table = store_.allocations;
    const uint64_t old_bytes = table.size_bytes[row];
    if (old_bytes < kSmallestPartBytes) return;
    for (size_t back = 1; back <= std::min(next_, recent_.size()); ++back) {
      const uint32_t candidate = recent_[(next_ - back) % recent_.size()];
      const uint64_t bytes = table.size_bytes[candidate];
      const bool is_later = candidate > row && table.free_requested_seq[candidate] > free_seq;
      if (!is_later || bytes < old_bytes + kSmallestPartBytes || bytes > 2 * old_bytes || links_.contains(candidate))
        continue;
      const auto before = links_.find(row);
      const bool goes_on = before != links_.end() && before->second.part_bytes == bytes - old_bytes;
      const uint32_t length = goes_on ? before->second.length + 1 : 1;
      if (goes_on) before->second.length = 0;  // a chain is told from its last block
      links_[candidate] = {row, bytes - old_bytes, length};
      return;
    }
  }

  std::vector<CacheChain> Chains(size_t fewest_blocks) const {
    std::vector<CacheChain> chains;
    for (const auto& [last, end] : links_) {
      if (end.length == 0 || end.length + 1 < fewest_blocks) continue;
      CacheChain chain = {last};
      for (auto link = links_.find(last); link != links_.end() && link->second.part_bytes == end.part_bytes;
           link = links_.find(chain.back()))
        chain.push_back(link->second.previous);
      std::reverse(chain.begin(), chain.end());
      chains.push_back(std::move(chain));
    }
    std::sort(chains.begin(), chains.end());
    return WithPartners(chains);
  }

  // Keys grow beside values and each layer beside the others, by the same part. What grows alone are the ids of a text
  // or its scores, where a loop computes the whole text again, or inputs that get longer.
  std::vector<CacheChain> WithPartners(const std::vector<CacheChain>& chains) const {
    struct Latest {
      size_t chain = 0;
      uint32_t last_row = 0;  // of all chains so far that grow by that part
    };
    FlatMap<uint64_t, Latest> latest;  // by part
    std::vector<bool> has_partner(chains.size(), false);
    for (size_t i = 0; i < chains.size(); ++i) {
      const auto [known, is_new] =
          latest.try_emplace(links_.find(chains[i].back())->second.part_bytes, Latest{i, chains[i].back()});
      if (is_new) continue;
      Latest& before = known->second;
      if (chains[i].front() < before.last_row) has_partner[i] = has_partner[before.chain] = true;
      if (chains[i].back() > before.last_row) before = {i, chains[i].back()};
    }
    std::vector<CacheChain> kept;
    for (size_t i = 0; i < chains.size(); ++i) {
      if (has_partner[i]) kept.push_back(chains[i]);
    }
    return kept;
  }

  const Store& store_;
  const Heap& heap_;
  const std::vector<Phase>& phases_;
  std::array<uint32_t, kMostBetween> recent_{};
  size_t next_ = 0;
  FlatMap<uint32_t, Link> links_;  // by the younger block
};

}  // namespace

std::vector<CacheChain> FindCacheChains(const Store& store, const Heap& heap, const std::vector<Phase>& phases,
                                        size_t fewest_blocks) {
  return ChainFinder(store, heap, phases).Run(fewest_blocks);
}

}  // namespace memstrata
