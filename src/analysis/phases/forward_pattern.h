#pragma once
// What a forward looks like in sizes, to find another one without a backward: an evaluation, or a forward that was cut
// off, perhaps with a batch of another size.

#include <optional>
#include <span>
#include <vector>

#include "analysis/phases/backward_passes.h"
#include "base/flat_map.h"

namespace memstrata {

class ForwardPattern {
 public:
  /// `known_sizes`: those of parameters and gradients, which an optimizer allocates too; a pattern needs others.
  ForwardPattern(const OrderEvents& events, std::span<const BackwardPass> passes,
                 const FlatMap<uint64_t, uint32_t>& known_sizes);

  /// The first allocation in [begin, end) from which on sizes follow each other as in a forward, or, all multiplied by
  /// one factor, as in one with another batch; `end` if there is none. cost: O(end - begin)
  uint32_t FindFirst(uint32_t begin, uint32_t end) const;

 private:
  std::vector<uint32_t> OfActivations(uint32_t begin, uint32_t end, bool with_known) const;
  std::optional<uint32_t> FindOwnSizes(const std::vector<uint32_t>& allocs) const;

  const OrderEvents& events_;
  const FlatMap<uint64_t, uint32_t>& known_sizes_;
  FlatMap<uint64_t, bool> sizes_;       // hashes of sizes in a row
  FlatMap<uint64_t, uint64_t> ratios_;  // by hash of sizes in a row, each divided by the first: the smallest first one
  FlatMap<uint64_t, bool> own_sizes_;   // of blocks of the forwards; neither weights nor their copies have them
};

}  // namespace memstrata
