#include "analysis/phases/period.h"

#include <algorithm>
#include <span>

#include "analysis/phases/order_events.h"

namespace memstrata {
namespace {

// A sequence of few allocations has to come often before it is a step and not chance.
constexpr size_t kShort = 3;
constexpr size_t kFewestOfShort = 16;
constexpr size_t kFewest = 2;
// Tokens from the start of a step on that make other starts recognisable.
constexpr size_t kAnchorLength = 4;

/// What is compared of an event.
struct Token {
  uint32_t seq = 0;
  uint64_t first = 0;
  uint64_t second = 0;
  int64_t live_before_bytes = 0;  // relative to the first event
  bool is_alloc = true;

  bool IsSameAs(const Token& other) const {
    return first == other.first && second == other.second && is_alloc == other.is_alloc;
  }
};

std::vector<Token> TokensOfAllocs(const Store& store, const Heap& heap) {
  std::vector<Token> tokens;
  int64_t live_bytes = 0;
  for (uint32_t seq = 0; seq < heap.events.size(); ++seq) {
    const uint32_t row = heap.events.begin + seq;
    const auto size_bytes = static_cast<int64_t>(store.events.size_bytes[row]);
    if (store.events.kind[row] == EventKind::kFreeCompleted) live_bytes -= size_bytes;
    if (store.events.kind[row] != EventKind::kAlloc) continue;
    tokens.push_back({seq, store.events.size_bytes[row], store.events.stack[row].value, live_bytes, true});
    live_bytes += size_bytes;
  }
  return tokens;
}

// Allocations as such, and how long freed blocks lived.
std::vector<Token> TokensOfLifetimes(const Store& store, const Heap& heap, uint32_t begin_seq) {
  const OrderEvents events = CollectOrderEvents(store, heap);
  std::vector<Token> tokens;
  int64_t live_bytes = 0;
  for (uint32_t i = OrderIndexAt(events, begin_seq); i < events.size(); ++i) {
    const OrderEvent& event = events[i];
    const uint64_t lifetime = event.is_alloc ? 0 : event.alloc_index == kNone ? kNone : i - event.alloc_index;
    tokens.push_back({event.seq, lifetime, 0, live_bytes, event.is_alloc});
    live_bytes += event.is_alloc ? static_cast<int64_t>(event.size_bytes) : -static_cast<int64_t>(event.size_bytes);
  }
  while (!tokens.empty() && !tokens.back().is_alloc) tokens.pop_back();  // the end of the program
  return tokens;
}

/// The last `length` tokens repeat every `period`.
struct PeriodicEnd {
  size_t length = 0;
  size_t period = 0;
};

// The longest end of the sequence with a period, by the border of each prefix of the reversed sequence
// (Knuth, Morris and Pratt).
PeriodicEnd FindPeriodicEnd(const std::vector<Token>& tokens) {
  const size_t count = tokens.size();
  const auto reversed = [&](size_t i) -> const Token& { return tokens[count - 1 - i]; };
  std::vector<size_t> border(count, 0);
  PeriodicEnd longest;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) {
      size_t k = border[i - 1];
      while (k > 0 && !reversed(i).IsSameAs(reversed(k))) k = border[k - 1];
      border[i] = reversed(i).IsSameAs(reversed(k)) ? k + 1 : 0;
    }
    const size_t length = i + 1;
    const size_t period = length - border[i];
    const size_t fewest = period < kShort ? kFewestOfShort : kFewest;
    if (length >= period * fewest && length > period) longest = {length, period};
  }
  return longest;
}

// Index of the allocation before which the least is live, in the last period.
size_t LowestInLastPeriod(const std::vector<Token>& tokens, size_t period) {
  size_t lowest = tokens.size() - 1;
  for (size_t i = tokens.size() - period; i < tokens.size(); ++i) {
    if (tokens[i].is_alloc && tokens[i].live_before_bytes < tokens[lowest].live_before_bytes) lowest = i;
  }
  return lowest;
}

// A loop gives back at least half of what it allocates.
bool GivesBack(const Store& store, const Heap& heap, uint32_t begin_seq) {
  uint64_t allocated_bytes = 0;
  uint64_t freed_bytes = 0;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    if (store.allocations.alloc_seq[row] == kNone || store.allocations.alloc_seq[row] < begin_seq) continue;
    allocated_bytes += store.allocations.size_bytes[row];
    if (store.allocations.free_requested_seq[row] != kNone) freed_bytes += store.allocations.size_bytes[row];
  }
  return freed_bytes * 2 >= allocated_bytes;
}

}  // namespace

std::vector<uint32_t> FindPeriodicSteps(const Store& store, const Heap& heap, bool may_keep_all) {
  const std::vector<Token> tokens = TokensOfAllocs(store, heap);
  const PeriodicEnd end = FindPeriodicEnd(tokens);
  if (end.length == 0) return {};
  const size_t first = tokens.size() - end.length;
  if (!may_keep_all && !GivesBack(store, heap, tokens[first].seq)) return {};
  const size_t anchor = LowestInLastPeriod(tokens, end.period);
  const size_t anchor_length = std::min({kAnchorLength, end.period, tokens.size() - anchor});
  const std::span<const Token> pattern(&tokens[anchor], anchor_length);
  std::vector<uint32_t> begins;
  for (size_t i = 0; i + anchor_length <= tokens.size();) {
    const bool is_start = std::equal(pattern.begin(), pattern.end(), tokens.begin() + static_cast<ptrdiff_t>(i),
                                     [](const Token& a, const Token& b) { return a.IsSameAs(b); });
    if (is_start) begins.push_back(tokens[i].seq);
    // Within the part that repeats, only every period starts a step; an anchor may occur inside of one too.
    i += is_start && i >= first ? end.period : 1;
  }
  return begins;
}

std::vector<uint32_t> FindPeriodicLifetimes(const Store& store, const Heap& heap, uint32_t begin_seq) {
  constexpr size_t kShortestStep = 16;
  const std::vector<Token> tokens = TokensOfLifetimes(store, heap, begin_seq);
  const PeriodicEnd end = FindPeriodicEnd(tokens);
  if (end.period < kShortestStep || end.length < 3 * end.period) return {};
  std::vector<uint32_t> begins;
  size_t start = LowestInLastPeriod(tokens, end.period);
  while (start + end.length >= tokens.size()) {
    begins.push_back(tokens[start].seq);
    if (start < end.period) break;
    start -= end.period;
  }
  if (begins.back() > begin_seq) begins.push_back(begin_seq);
  std::reverse(begins.begin(), begins.end());
  return begins;
}

}  // namespace memstrata
