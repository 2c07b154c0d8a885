#include "analysis/holders/holders.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/frames/useful_frame.h"
#include "base/flat_map.h"

namespace memstrata {
namespace {

struct StackWeight {
  uint64_t bytes = 0;
  uint64_t block_count = 0;
};

// Bytes by stack; blocks without a stack that are older than the recording are apart, under kPreexistingRow.
constexpr uint32_t kPreexistingRow = kNone;

std::vector<std::pair<uint32_t, StackWeight>> WeighStacks(const Store& store, const Heap& heap, Moment at) {
  const AllocationTable& table = store.allocations;
  std::vector<StackWeight> by_stack(store.stacks.stacks().size());
  StackWeight preexisting;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    if (!IsLive(table, row, at)) continue;
    const bool unexplained = table.stack[row].value == 0 && (table.flags[row] & kPreexisting) != 0;
    StackWeight& weight = unexplained ? preexisting : by_stack[table.stack[row].value];
    weight.bytes += table.size_bytes[row];
    ++weight.block_count;
  }
  std::vector<std::pair<uint32_t, StackWeight>> weights;
  for (uint32_t stack = 0; stack < by_stack.size(); ++stack) {
    if (by_stack[stack].block_count > 0) weights.emplace_back(stack, by_stack[stack]);
  }
  if (preexisting.block_count > 0) weights.emplace_back(kPreexistingRow, preexisting);
  return weights;
}

std::string NameOf(const Store& store, StackId stack, HolderKey key, Category category) {
  if (key == HolderKey::kCategory) return std::string(kCategoryNames[static_cast<size_t>(category)]);
  if (stack.value == 0) return "";
  const std::vector<FrameId> frames = FramesOf(store, stack);
  const FrameId frame = frames[UsefulFrameIndex(store, frames)];
  const FrameTable& table = store.stacks.frames();
  const std::string_view file = store.String(table.file[frame.value]);
  if (key == HolderKey::kFile) return std::string(file);
  return fmt::format("{} ({})", ShortFunctionName(store.String(table.function[frame.value])), ShortPath(file));
}

void Merge(Holder& into, const Holder& more) {
  into.bytes += more.bytes;
  into.block_count += more.block_count;
  if (into.category != more.category) into.category = Category::kUnknown;
}

bool Larger(const Holder& a, const Holder& b) {
  if (a.bytes != b.bytes) return a.bytes > b.bytes;
  if (a.stack != b.stack) return a.stack < b.stack;
  return a.name < b.name;
}

void FoldTail(std::vector<Holder>& holders, size_t top_count) {
  if (holders.size() <= top_count) return;
  Holder other = holders[top_count];
  for (size_t i = top_count + 1; i < holders.size(); ++i) Merge(other, holders[i]);
  other.name.clear();
  other.stack = {0};
  other.is_preexisting = false;
  other.is_other = true;
  holders.resize(top_count);
  holders.push_back(std::move(other));
}

}  // namespace

std::vector<Holder> FindHolders(const Store& store, const Heap& heap, Moment at, HolderKey key, size_t top_count) {
  const std::vector<Category> categories = CategoriesByStack(store);
  std::vector<Holder> holders;
  FlatMap<std::string_view, size_t> by_name;
  for (const auto& [stack_row, weight] : WeighStacks(store, heap, at)) {
    Holder holder;
    holder.bytes = weight.bytes;
    holder.block_count = weight.block_count;
    holder.is_preexisting = stack_row == kPreexistingRow;
    holder.stack = {holder.is_preexisting ? 0 : stack_row};
    holder.category = categories[holder.stack.value];
    if (key != HolderKey::kStack) holder.name = NameOf(store, holder.stack, key, holder.category);
    holders.push_back(std::move(holder));
  }
  std::sort(holders.begin(), holders.end(), Larger);
  if (key != HolderKey::kStack) {
    std::vector<Holder> merged;
    merged.reserve(holders.size());  // names are referred to while merging
    for (Holder& holder : holders) {
      const auto found = by_name.find(holder.name);
      if (found != by_name.end() && merged[found->second].is_preexisting == holder.is_preexisting) {
        Merge(merged[found->second], holder);
      } else {
        merged.push_back(std::move(holder));
        by_name.emplace(merged.back().name, merged.size() - 1);
      }
    }
    holders = std::move(merged);
    std::sort(holders.begin(), holders.end(), Larger);
  }
  FoldTail(holders, top_count);
  return holders;
}

}  // namespace memstrata
