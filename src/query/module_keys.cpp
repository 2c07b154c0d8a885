#include "query/module_keys.h"

#include "analysis/layers/module_paths.h"

namespace memstrata {
namespace {

std::string WithoutNumbers(std::string_view path) {
  std::string text;
  bool is_number = false;
  for (const char c : path) {
    is_number = is_number && c != ']';
    if (!is_number) text += c;
    if (c == '[') {
      text += '*';
      is_number = true;
    }
  }
  return text;
}

}  // namespace

StackKeys MakeModuleKeys(const Store& store, const UsefulFrames& useful, const std::vector<Category>& category_of_row,
                         LayerNumbers numbers) {
  StackKeys keys = MakeStackKeys(store, useful, GroupBy::kModule);
  keys.key_of_row.resize(store.allocations.size());
  for (uint32_t row = 0; row < keys.key_of_row.size(); ++row)
    keys.key_of_row[row] = KeyOfStack(store.allocations, keys, row);
  FlatMap<std::string, uint32_t> key_of_text;
  for (const Heap& heap : store.heaps) {
    const std::span categories(category_of_row.data() + heap.allocations.begin, heap.allocations.size());
    const ModulePaths paths = FindModulePaths(store, heap, FindTimeline(store, heap), categories);
    std::vector<uint32_t> key_of_path(paths.texts.size(), 0);
    for (size_t path = 1; path < paths.texts.size(); ++path) {
      std::string text = numbers == LayerNumbers::kKept ? paths.texts[path] : WithoutNumbers(paths.texts[path]);
      const auto [entry, is_new] = key_of_text.try_emplace(text, static_cast<uint32_t>(keys.texts.size()));
      if (is_new) {
        keys.labels.push_back(text);
        keys.texts.push_back(std::move(text));
      }
      key_of_path[path] = entry->second;
    }
    for (uint32_t i = 0; i < paths.path_of_row.size(); ++i) {
      if (paths.path_of_row[i] != 0) keys.key_of_row[heap.allocations.begin + i] = key_of_path[paths.path_of_row[i]];
    }
  }
  return keys;
}

}  // namespace memstrata
