#pragma once
// What a message says, before anybody judges it: values by their meaning, found by a table of clauses.

#include <array>
#include <span>
#include <vector>

#include "oom/text/pattern.h"

namespace memstrata::oom {

enum class Fact : uint8_t {
  kIgnored,
  kRequested,
  kFree,
  kCapacity,
  kLive,
  kIdle,
  kReserved,  // live and idle together
  kOutside,
  kPrivatePool,
  kOwnProcess,  // all that this process holds on the device
  kNeighbour,   // what one other process holds
  kCap,
  kLargestHole,
  kExceeded,  // by how much the message itself says it is too much
  kUsed,
  kUnpadded,
  kPadding,
  kShare,       // a fraction that the user set
  kWanted,      // what a share comes to
  kTokens,      // what is asked for, in tokens
  kTokenLimit,  // what there is room for, in tokens
  kWeights,
  kKvCache,
  kCompute,
  kProgram,
  kArguments,
  kOutput,
  kTemporary,
  kLimit,
  kPid,
  kCount,  // how many
};
inline constexpr size_t kFactCount = static_cast<size_t>(Fact::kCount) + 1;

struct Clause {
  std::string_view pattern;
  std::array<Fact, kMostValues> facts{};  // of its values, in order
};

/// The first value of each fact; of neighbours, all.
class Facts {
 public:
  bool Has(Fact fact) const { return values_[static_cast<size_t>(fact)].has_value(); }
  const std::optional<Value>& Get(Fact fact) const { return values_[static_cast<size_t>(fact)]; }
  std::optional<uint64_t> Bytes(Fact fact) const;
  uint64_t BytesOr0(Fact fact) const { return Bytes(fact).value_or(0); }
  double Number(Fact fact) const { return Has(fact) ? Get(fact)->number : 0; }
  uint64_t Tolerance(Fact fact) const { return Has(fact) ? Get(fact)->tolerance_bytes : 0; }
  void Set(Fact fact, const Value& value);
  std::span<const Value> neighbours() const { return neighbours_; }
  std::vector<Value>& mutable_neighbours() { return neighbours_; }
  /// Whether a value is one that no device can have.
  bool HasImpossible() const;

 private:
  std::array<std::optional<Value>, kFactCount> values_;
  std::vector<Value> neighbours_;
};

/// Takes the first match of each clause in `window`; of clauses with kNeighbour every match.
Facts CollectFacts(std::string_view window, std::span<const Clause> clauses);

}  // namespace memstrata::oom
