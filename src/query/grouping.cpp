#include "query/grouping.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/flat_map.h"
#include "base/units.h"

namespace memstrata {
namespace {

constexpr size_t kLargestKeyCount = 9;
constexpr uint64_t kSizeLimits[] = {64ULL << 10, 1ULL << 20, 16ULL << 20, 128ULL << 20, 1ULL << 30, 4ULL << 30};
constexpr uint32_t kLifetimeLimits[] = {10, 100, 1'000, 10'000, 100'000};
constexpr std::string_view kNoStackText = "no stack recorded";
constexpr std::string_view kPreexistingText = "before the recording";
constexpr std::string_view kNoShapeText = "no shape recorded";
constexpr std::string_view kUnknownDataType = "INVALID";  // as XProf writes it

struct KeyName {
  std::string text;  // whole: a cut name would put together what is not one
  std::string label;
};

KeyName NameOfKey(const Store& store, FrameId frame, GroupBy by) {
  const FrameTable& frames = store.stacks.frames();
  const std::string_view file = store.String(frames.file[frame.value]);
  if (by == GroupBy::kFile) return {std::string(file), std::string(ShortPath(file))};
  if (by == GroupBy::kModule) return {ModuleOf(file), ModuleOf(file)};
  const std::string_view function = store.String(frames.function[frame.value]);
  const std::string in_file = file.empty() ? "" : fmt::format(" ({})", ShortPath(file));
  return {fmt::format("{}{}", function, in_file), ShortFunctionName(function) + in_file};
}

// Empty where neither is known.
std::string ShapeText(const Store& store, StringId data_type, StringId shape) {
  const std::string_view type = store.String(data_type) == kUnknownDataType ? "" : store.String(data_type);
  const std::string_view extents = store.String(shape);
  return fmt::format("{}{}{}", type, type.empty() || extents.empty() ? "" : " ", extents);
}

std::string SizeLabel(size_t group) {
  if (group == 0) return fmt::format("below {}", FormatBytes(kSizeLimits[0]));
  if (group == std::size(kSizeLimits)) return fmt::format("{} and more", FormatBytes(kSizeLimits[group - 1]));
  return fmt::format("{} to {}", FormatBytes(kSizeLimits[group - 1]), FormatBytes(kSizeLimits[group]));
}

std::string LifetimeLabel(size_t group) {
  const size_t limits = std::size(kLifetimeLimits);
  if (group < limits) return fmt::format("below {} events", FormatCount(kLifetimeLimits[group]));
  return group == limits ? fmt::format("{} events and more", FormatCount(kLifetimeLimits[limits - 1]))
                         : "live at the end";
}

uint8_t LifetimeGroup(const AllocationTable& table, uint32_t row) {
  if (table.free_seq[row] == kNone) return std::size(kLifetimeLimits) + 1;
  const uint32_t begin = table.alloc_seq[row] == kNone ? 0 : table.alloc_seq[row];
  const uint32_t events = table.free_seq[row] - std::min(begin, table.free_seq[row]);
  return static_cast<uint8_t>(std::upper_bound(std::begin(kLifetimeLimits), std::end(kLifetimeLimits), events) -
                              std::begin(kLifetimeLimits));
}

void GroupBySize(const AllocationTable& table, const Heap& heap, Grouping& grouping) {
  for (size_t group = 0; group <= std::size(kSizeLimits); ++group)
    grouping.groups.push_back({fmt::format("size_{}", group), SizeLabel(group)});
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    const auto* limit = std::upper_bound(std::begin(kSizeLimits), std::end(kSizeLimits), table.size_bytes[row]);
    grouping.rows.group_of_row.push_back(static_cast<uint8_t>(limit - std::begin(kSizeLimits)));
  }
}

void GroupByLifetime(const AllocationTable& table, const Heap& heap, Grouping& grouping) {
  for (size_t group = 0; group < std::size(kLifetimeLimits) + 2; ++group)
    grouping.groups.push_back({fmt::format("lifetime_{}", group), LifetimeLabel(group)});
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row)
    grouping.rows.group_of_row.push_back(LifetimeGroup(table, row));
}

// From the bottom of the stack up: what hardly moves first, so that the rest does not shake it.
constexpr Category kStackingOrder[] = {
    Category::kParameter, Category::kBuffer,       Category::kOptimizerState, Category::kKvCache,
    Category::kStack,     Category::kWorkspace,    Category::kCommunication,  Category::kInput,
    Category::kGradient,  Category::kAutocastCopy, Category::kActivation,     Category::kTemporary,
    Category::kLogits,    Category::kUnknown,
};
static_assert(std::size(kStackingOrder) == std::size(kCategoryNames));

// Only categories that occur.
void GroupByCategory(const Heap& heap, const std::vector<Category>& category_of_row, Grouping& grouping) {
  std::array<bool, std::size(kCategoryNames)> used{};
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    used[static_cast<size_t>(category_of_row[row])] = true;
  }
  std::array<uint8_t, std::size(kCategoryNames)> group_of{};
  for (const Category category : kStackingOrder) {
    const auto index = static_cast<size_t>(category);
    if (!used[index]) continue;
    group_of[index] = static_cast<uint8_t>(grouping.groups.size());
    std::string label(kCategoryNames[index]);
    std::replace(label.begin(), label.end(), '_', ' ');
    grouping.groups.push_back({std::string(kCategoryNames[index]), std::move(label)});
  }
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    grouping.rows.group_of_row.push_back(group_of[static_cast<size_t>(category_of_row[row])]);
  }
}

// The largest keys at the peak of the heap each have a group, largest at the bottom; everything else is the rest.
void GroupByKey(HeapIndex& index, const StackKeys& keys, Grouping& grouping) {
  const AllocationTable& table = index.store().allocations;
  const Heap& heap = index.heap();
  std::vector<uint64_t> bytes(keys.texts.size(), 0);
  const Moment peak = index.LivePeak().moment;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    if (IsLive(table, row, peak)) bytes[KeyOfStackedRow(table, keys, row)] += table.size_bytes[row];
  }
  std::vector<uint32_t> order;
  for (uint32_t key = 0; key < bytes.size(); ++key) {
    if (bytes[key] > 0) order.push_back(key);
  }
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return std::pair(bytes[b], a) < std::pair(bytes[a], b); });
  if (order.size() > kLargestKeyCount) order.resize(kLargestKeyCount);
  std::vector<uint8_t> group_of_key(keys.texts.size(), static_cast<uint8_t>(order.size()));
  for (size_t group = 0; group < order.size(); ++group) {
    group_of_key[order[group]] = static_cast<uint8_t>(group);
    grouping.groups.push_back({keys.texts[order[group]], keys.labels[order[group]]});
  }
  grouping.groups.push_back({"rest", "everything else"});
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row)
    grouping.rows.group_of_row.push_back(group_of_key[KeyOfStackedRow(table, keys, row)]);
}

}  // namespace

std::string ModuleOf(std::string_view file) {
  const size_t slash = file.find_last_of("/\\");
  return std::string(slash == std::string_view::npos ? file : ShortPath(file.substr(0, slash)));
}

uint32_t KeyOfStackedRow(const AllocationTable& table, const StackKeys& keys, uint32_t row) {
  return keys.key_of_row.empty() ? KeyOfStack(table, keys, row) : keys.key_of_row[row];
}

uint32_t KeyOfStack(const AllocationTable& table, const StackKeys& keys, uint32_t row) {
  const StackId stack = table.stack[row];
  if (stack.value == 0) return (table.flags[row] & kPreexisting) != 0 ? kPreexistingKey : kNoStackKey;
  return keys.key_of_stack[stack.value];
}

StackKeys MakeStackKeys(const Store& store, const UsefulFrames& useful, GroupBy by) {
  const StackTable& stacks = store.stacks.stacks();
  StackKeys keys;
  keys.texts = {std::string(kNoStackText), std::string(kPreexistingText)};
  keys.labels = keys.texts;
  keys.key_of_stack.assign(stacks.size(), kNoStackKey);
  if (by == GroupBy::kStack) {
    // A stack that holds blocks is a key of its own, named like others that come from the same line.
    std::vector<bool> used(stacks.size(), false);
    for (const StackId stack : store.allocations.stack.span()) used[stack.value] = true;
    for (uint32_t stack = 1; stack < stacks.size(); ++stack) {
      if (!used[stack]) continue;
      keys.key_of_stack[stack] = static_cast<uint32_t>(keys.texts.size());
      keys.labels.push_back(StackLabel(store, useful, {stack}));
      keys.texts.push_back(fmt::format("{} #{}", StackPlace(store, useful, {stack}), stack));
    }
    return keys;
  }
  FlatMap<uint32_t, uint32_t> key_of_frame;
  FlatMap<std::string, uint32_t> key_of_text;
  for (uint32_t stack = 1; stack < stacks.size(); ++stack) {
    const FrameId frame = useful.Of({stack});
    const auto [known, is_new_frame] = key_of_frame.try_emplace(frame.value, 0);
    if (is_new_frame) {
      KeyName name = NameOfKey(store, frame, by);
      const auto [entry, is_new] = key_of_text.try_emplace(name.text, static_cast<uint32_t>(keys.texts.size()));
      if (is_new) {
        keys.texts.push_back(std::move(name.text));
        keys.labels.push_back(std::move(name.label));
      }
      known->second = entry->second;
    }
    keys.key_of_stack[stack] = known->second;
  }
  return keys;
}

StackKeys MakeShapeKeys(const Store& store) {
  StackKeys keys;
  keys.texts = {std::string(kNoShapeText), std::string(kPreexistingText)};
  keys.key_of_row.assign(store.allocations.size(), kNoStackKey);
  FlatMap<uint64_t, uint32_t> key_of_pair;
  for (const Heap& heap : store.heaps) {
    for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
      if ((store.allocations.flags[row] & kPreexisting) != 0) keys.key_of_row[row] = kPreexistingKey;
      if (!store.HasXPlaneDetails(heap) || store.allocations.alloc_seq[row] == kNone) continue;
      const uint32_t event = store.EventRow(heap, store.allocations.alloc_seq[row]);
      const StringId data_type = store.xplane.events.data_type[event];
      const StringId shape = store.xplane.events.shape[event];
      std::string text = ShapeText(store, data_type, shape);
      if (text.empty()) continue;
      const auto [entry, is_new] = key_of_pair.try_emplace(uint64_t{data_type.value} << 32 | shape.value,
                                                           static_cast<uint32_t>(keys.texts.size()));
      if (is_new) keys.texts.push_back(std::move(text));
      keys.key_of_row[row] = entry->second;
    }
  }
  keys.labels = keys.texts;
  return keys;
}

bool HasShapes(const Store& store, const Heap& heap) {
  if (!store.HasXPlaneDetails(heap)) return false;
  for (uint32_t event = heap.events.begin; event < heap.events.end; ++event) {
    if (!ShapeText(store, store.xplane.events.data_type[event], store.xplane.events.shape[event]).empty()) return true;
  }
  return false;
}

std::string StackLabel(const Store& store, const UsefulFrames& useful, StackId stack) {
  if (stack.value == 0) return std::string(kNoStackText);
  const FrameId frame = useful.Of(stack);
  const std::string function = ShortFunctionName(store.String(store.stacks.frames().function[frame.value]));
  const std::vector<FrameId> frames = FramesOf(store, stack);
  const auto position = static_cast<size_t>(std::find(frames.begin(), frames.end(), frame) - frames.begin());
  const std::string operator_name = OperatorName(store, frames, position);
  return operator_name.empty() ? function : fmt::format("{} in {}", operator_name, function);
}

std::string StackPlace(const Store& store, const UsefulFrames& useful, StackId stack) {
  if (stack.value == 0) return "";
  const FrameTable& frames = store.stacks.frames();
  const StackTable& stacks = store.stacks.stacks();
  const FrameId frame = useful.Of(stack);
  const std::string_view file = store.String(frames.file[frame.value]);
  std::string place = file.empty() ? "" : fmt::format("{}:{}", ShortPath(file), frames.line[frame.value]);
  StackId at = stack;
  while (stacks.frame[at.value] != frame) at = stacks.parent[at.value];
  at = stacks.parent[at.value];
  while (at.value != 0 && useful.IsPlumbing(stacks.frame[at.value])) at = stacks.parent[at.value];
  if (at.value != 0)
    place += fmt::format("{}← {}", place.empty() ? "" : " ",
                         ShortFunctionName(store.String(frames.function[stacks.frame[at.value].value])));
  return place;
}

Grouping MakeGrouping(HeapIndex& index, GroupBy by, const std::vector<Category>& category_of_row,
                      const StackKeys& keys) {
  const AllocationTable& table = index.store().allocations;
  const Heap& heap = index.heap();
  Grouping grouping;
  grouping.rows.group_of_row.reserve(heap.allocations.size());
  switch (by) {
    case GroupBy::kCategory:
      GroupByCategory(heap, category_of_row, grouping);
      break;
    case GroupBy::kSize:
      GroupBySize(table, heap, grouping);
      break;
    case GroupBy::kLifetime:
      GroupByLifetime(table, heap, grouping);
      break;
    default:
      GroupByKey(index, keys, grouping);
      break;
  }
  grouping.rows.group_count = static_cast<uint32_t>(grouping.groups.size());
  const Moment peak = index.LivePeak().moment;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    if (!IsLive(table, row, peak)) continue;
    grouping.groups[grouping.rows.group_of_row[row - heap.allocations.begin]].bytes_at_peak += table.size_bytes[row];
  }
  return grouping;
}

}  // namespace memstrata
