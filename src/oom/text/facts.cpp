#include "oom/text/facts.h"

#include <algorithm>

namespace memstrata::oom {
namespace {

// A process table of a node has some dozens of rows at most.
constexpr size_t kMostNeighbours = 1024;

}  // namespace

std::optional<uint64_t> Facts::Bytes(Fact fact) const {
  const std::optional<Value>& value = Get(fact);
  if (!value || value->IsImpossible() || value->is_negative) return std::nullopt;
  return value->bytes;
}

void Facts::Set(Fact fact, const Value& value) {
  if (fact == Fact::kIgnored) return;
  if (fact == Fact::kNeighbour) {
    if (neighbours_.size() < kMostNeighbours) neighbours_.push_back(value);
    return;
  }
  std::optional<Value>& slot = values_[static_cast<size_t>(fact)];
  if (!slot) slot = value;
}

bool Facts::HasImpossible() const {
  const auto impossible = [](const Value& value) { return value.IsImpossible() || value.is_negative; };
  return std::any_of(values_.begin(), values_.end(), [&](const auto& value) { return value && impossible(*value); }) ||
         std::any_of(neighbours_.begin(), neighbours_.end(), impossible);
}

Facts CollectFacts(std::string_view window, std::span<const Clause> clauses) {
  Facts facts;
  for (const Clause& clause : clauses) {
    const bool repeats = std::find(clause.facts.begin(), clause.facts.end(), Fact::kNeighbour) != clause.facts.end();
    std::optional<PatternMatch> match = FindPattern(window, clause.pattern);
    while (match) {
      for (size_t i = 0; i < match->value_count; ++i) facts.Set(clause.facts[i], match->values[i]);
      if (!repeats) break;
      match = FindPattern(window, clause.pattern, match->end);
    }
  }
  return facts;
}

}  // namespace memstrata::oom
