#include "analysis/holders/holders.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/frames/useful_frame.h"
#include "base/flat_map.h"

namespace memstrata {
namespace {

// One holder for each stack, or module, and category; blocks without a stack that are older than the recording are
// apart.
std::vector<Holder> WeighParts(const Store& store, const Heap& heap, std::span<const Category> categories, Moment at,
                               const ModulePaths* modules) {
  const AllocationTable& table = store.allocations;
  FlatMap<uint64_t, size_t> index;  // stack, category, older than the recording → holder
  std::vector<Holder> holders;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    if (!IsLive(table, row, at)) continue;
    const Category category = categories[row - heap.allocations.begin];
    const bool unexplained = table.stack[row].value == 0 && (table.flags[row] & kPreexisting) != 0;
    const uint32_t part =
        modules == nullptr ? table.stack[row].value : modules->path_of_row[row - heap.allocations.begin];
    const uint64_t key = uint64_t{part} << 16 | static_cast<uint64_t>(category) << 1 | (unexplained ? 1 : 0);
    const auto [found, is_new] = index.emplace(key, holders.size());
    if (is_new) {
      holders.push_back({.category = category, .stack = table.stack[row], .is_preexisting = unexplained});
      if (modules != nullptr) holders.back().name = modules->texts[part];
    }
    holders[found->second].bytes += table.size_bytes[row];
    ++holders[found->second].block_count;
  }
  return holders;
}

std::string NameOf(const Store& store, StackId stack, HolderKey key, Category category) {
  if (key == HolderKey::kCategory) return std::string(kCategoryNames[static_cast<size_t>(category)]);
  if (stack.value == 0) return "";
  const FrameId frame = UsefulFrame(store, stack);
  const FrameTable& table = store.stacks.frames();
  const std::string_view file = store.String(table.file[frame.value]);
  if (key == HolderKey::kFile) return std::string(file);
  return fmt::format("{} ({})", ShortFunctionName(store.String(table.function[frame.value])), ShortPath(file));
}

void Merge(Holder& into, const Holder& more) {
  into.bytes += more.bytes;
  into.block_count += more.block_count;
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

std::vector<Holder> FindHolders(const Store& store, const Heap& heap, std::span<const Category> categories, Moment at,
                                HolderKey key, size_t top_count, const ModulePaths* modules) {
  const bool is_by_stack = key == HolderKey::kStack;
  std::vector<Holder> parts = WeighParts(store, heap, categories, at, modules);
  std::sort(parts.begin(), parts.end(), Larger);  // the largest part names the whole
  std::vector<Holder> holders;
  FlatMap<std::string, size_t> index;
  for (Holder& part : parts) {
    if (key == HolderKey::kModule) {
      if (part.name.empty()) part.name = fmt::format("no module: {}", CategoryWords(part.category));
    } else if (!is_by_stack) {
      part.name = NameOf(store, part.stack, key, part.category);
    }
    const bool is_apart = is_by_stack && part.stack.value == 0;
    const std::string merge_key =
        fmt::format("{}{}{}{}", part.name, part.is_preexisting ? "\n" : "\t", is_by_stack ? part.stack.value : 0,
                    is_apart ? CategoryWords(part.category) : "");
    const auto [found, is_new] = index.emplace(merge_key, holders.size());
    if (is_new) {
      holders.push_back(std::move(part));
    } else {
      Merge(holders[found->second], part);
    }
  }
  std::sort(holders.begin(), holders.end(), Larger);
  FoldTail(holders, top_count);
  return holders;
}

}  // namespace memstrata
