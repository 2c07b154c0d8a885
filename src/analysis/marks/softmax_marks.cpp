#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/category/parameter_sizes.h"
#include "analysis/frames/stacks_through.h"
#include "analysis/marks/step_marks.h"
#include "base/units.h"

namespace memstrata {
namespace {

// A pair that holds less of the peak cannot be seen.
constexpr uint64_t kLeastShare = 100;

/// Two blocks of one size that are alive together, of which one goes before the backward: what a softmax is made from
/// and what it makes. Rows of the allocation table.
struct Pair {
  uint32_t first = kNone;
  uint32_t second = kNone;
};

// Stacks in a softmax, whatever it calls in turn. index = stack id
std::vector<bool> FindSoftmaxStacks(const Store& store) {
  return FindStacksThrough(store, [](std::string_view, std::string_view function) {
    return function.find("softmax") != std::string_view::npos;
  });
}

// Pairs of the forward that are large enough to be seen, in order. Smaller blocks between the two do not count.
std::vector<Pair> FindPairs(const HeapAnalysis& analysis, const StepView& view) {
  const AllocationTable& table = analysis.store->allocations;
  std::vector<uint32_t> large;
  for (const uint32_t row : view.made) {
    const Category category = analysis.CategoryOf(row);
    const bool is_of_layers = category == Category::kTemporary || category == Category::kActivation;
    const bool is_in_forward = table.alloc_seq[row] >= view.forward_begin && table.alloc_seq[row] < view.forward_end;
    if (is_of_layers && is_in_forward && 2 * table.size_bytes[row] * kLeastShare >= analysis.peak.bytes)
      large.push_back(row);
  }
  std::vector<Pair> pairs;
  for (size_t i = 1; i < large.size(); ++i) {
    const Pair pair{large[i - 1], large[i]};
    // "At once": before two further large blocks are made.
    const uint32_t soon =
        i + 2 < large.size() ? table.alloc_seq[large[i + 2]] : std::min(view.backward_begin, view.forward_end);
    const uint32_t first_end = table.free_requested_seq[pair.first];
    const bool is_short = std::min(first_end, table.free_requested_seq[pair.second]) <= soon;
    if (table.size_bytes[pair.first] == table.size_bytes[pair.second] && first_end > table.alloc_seq[pair.second] &&
        is_short)
      pairs.push_back(pair);
  }
  return pairs;
}

/// A model of tokens, as its sizes tell.
struct TokenModel {
  uint64_t token_count = 0;           // of a batch; 0 = not known
  uint64_t width = 0;                 // numbers for each token between layers
  uint64_t bytes_of_parameter = 0;    // of one number
  FlatMap<uint64_t, uint32_t> sizes;  // of parameters

  /// Whether some weight makes `numbers` out of the width, as a feed-forward does, or has so many itself.
  bool HasWeightFor(uint64_t numbers) const {
    return sizes.contains(numbers * bytes_of_parameter) || sizes.contains(numbers * width * bytes_of_parameter);
  }
};

uint64_t LargestInput(const HeapAnalysis& analysis, const StepView& view) {
  uint64_t largest = 0;
  for (const uint32_t row : view.made) {
    if (analysis.CategoryOf(row) == Category::kInput)
      largest = std::max(largest, analysis.store->allocations.size_bytes[row]);
  }
  return largest;
}

// Tokens come as 64-bit numbers, and no larger input beside them. The width is what most parameters have, the scales of
// the norms, if the forward makes blocks of tokens times that.
TokenModel FindTokenModel(const HeapAnalysis& analysis, const StepView& view) {
  constexpr uint32_t kFewestBlocks = 4;
  TokenModel model;
  model.sizes = CountParameterSizes(*analysis.store, *analysis.heap, analysis.categories);
  const uint64_t token_count = LargestInput(analysis, view) / sizeof(int64_t);
  uint64_t usual_bytes = 0;
  uint32_t most = 0;
  for (const auto& [bytes, count] : model.sizes) {
    if (count < most || (count == most && bytes > usual_bytes)) continue;
    usual_bytes = bytes;
    most = count;
  }
  for (const uint64_t bytes_of_parameter : {4, 2}) {
    const uint64_t width = usual_bytes / bytes_of_parameter;
    const auto is_between_layers = [&](uint32_t row) {
      const uint64_t bytes = analysis.store->allocations.size_bytes[row];
      return bytes == 4 * token_count * width || bytes == 2 * token_count * width;
    };
    if (width == 0 || token_count == 0 ||
        std::count_if(view.made.begin(), view.made.end(), is_between_layers) < kFewestBlocks)
      continue;
    model.token_count = token_count;
    model.width = width;
    model.bytes_of_parameter = bytes_of_parameter;
    return model;
  }
  return model;
}

// Numbers for each token that no weight makes, and more of them than between layers: each token against all others, for
// each head. A feed-forward's block of the same shape has a weight of its width.
bool IsTokensAgainstTokens(const TokenModel& model, uint64_t bytes) {
  bool is_possible = false;
  for (const uint64_t bytes_of_number : {4, 2}) {
    if (bytes % (model.token_count * bytes_of_number) != 0) continue;
    const uint64_t numbers = bytes / (model.token_count * bytes_of_number);
    if (model.HasWeightFor(numbers)) return false;
    is_possible = is_possible || numbers > model.width;
  }
  return is_possible;
}

// Pairs of a softmax that a stack names; where none does, as of `torch.softmax`, those of the size of an attention that
// come again and again.
std::vector<Pair> PairsOfAttention(const HeapAnalysis& analysis, const StepView& view) {
  const AllocationTable& table = analysis.store->allocations;
  const std::vector<Pair> pairs = FindPairs(analysis, view);
  const std::vector<bool> is_softmax = FindSoftmaxStacks(*analysis.store);
  std::vector<Pair> named;
  std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(named), [&](const Pair& pair) {
    return is_softmax[table.stack[pair.first].value] || is_softmax[table.stack[pair.second].value];
  });
  if (!named.empty() || pairs.empty()) return named;
  const TokenModel model = FindTokenModel(analysis, view);
  if (model.token_count == 0) return {};
  std::map<uint64_t, std::vector<Pair>> by_size;
  for (const Pair& pair : pairs) by_size[table.size_bytes[pair.first]].push_back(pair);
  for (auto of_size = by_size.rbegin(); of_size != by_size.rend(); ++of_size) {
    if (of_size->second.size() > 1 && IsTokensAgainstTokens(model, of_size->first)) return of_size->second;
  }
  return {};
}

Mark MarkOf(const AllocationTable& table, const StepView& view, const Pair& pair, std::string text) {
  const uint32_t end = std::min(table.free_requested_seq[pair.first], table.free_requested_seq[pair.second]);
  return {MarkKind::kSoftmaxSpike,
          view.step,
          table.alloc_seq[pair.second],
          end == kNone ? view.forward_end : end + 1,
          2 * table.size_bytes[pair.second],
          2,
          std::move(text),
          table.stack[pair.second]};
}

}  // namespace

std::optional<Mark> FindAttentionSoftmax(const HeapAnalysis& analysis, const StepView& view) {
  const AllocationTable& table = analysis.store->allocations;
  const std::vector<Pair> pairs = PairsOfAttention(analysis, view);
  if (pairs.empty()) return std::nullopt;
  const auto size_of = [&](const Pair& pair) { return table.size_bytes[pair.second]; };
  auto largest = std::max_element(pairs.begin(), pairs.end(),
                                  [&](const Pair& a, const Pair& b) { return size_of(a) < size_of(b); });
  // Products and scalings of the scores come before the softmax of the same attention.
  for (auto next = largest + 1; next != pairs.end() && next->first == largest->second; ++next) largest = next;
  return MarkOf(table, view, *largest, fmt::format("Softmax temporaries: 2 x {}", FormatBytes(size_of(*largest))));
}

// The scores in single precision and the logarithm of their softmax: the backward needs the second only.
std::optional<Mark> FindLossSoftmax(const HeapAnalysis& analysis, const StepView& view) {
  if (view.logits_bytes == 0 || view.backward_begin == kNone) return std::nullopt;
  const AllocationTable& table = analysis.store->allocations;
  Pair found;
  uint32_t previous = kNone;
  for (const uint32_t row : view.made) {
    if (table.alloc_seq[row] >= view.forward_end) break;
    if (analysis.CategoryOf(row) != Category::kLogits || table.size_bytes[row] != view.logits_bytes) continue;
    const bool is_pair = previous != kNone && table.free_requested_seq[previous] > table.alloc_seq[row] &&
                         table.free_requested_seq[previous] < view.backward_begin &&
                         table.free_requested_seq[row] >= view.backward_begin;
    if (is_pair) found = {previous, row};
    previous = row;
  }
  if (found.second == kNone || 2 * view.logits_bytes * kLeastShare < analysis.peak.bytes) return std::nullopt;
  return MarkOf(table, view, found,
                fmt::format("Softmax of the loss: 2 x {} at once, of which one goes before the backward",
                            FormatBytes(view.logits_bytes)));
}

}  // namespace memstrata
