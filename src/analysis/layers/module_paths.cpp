#include "analysis/layers/module_paths.h"

#include <fmt/format.h>

#include "analysis/frames/useful_frame.h"
#include "analysis/layers/layer_order.h"
#include "base/flat_map.h"

namespace memstrata {
namespace {

constexpr std::string_view kTorchFolder = "/torch/";
constexpr std::string_view kTorchModules = "torch/nn/modules/";
constexpr std::string_view kModuleCallFile = "torch/nn/modules/module.py";

class PathWriter {
 public:
  PathWriter(const Store& store, const Heap& heap, const PythonCalls& python, const ModuleCalls& calls,
             std::span<const uint32_t> layers)
      : store_(store),
        python_(python),
        stacks_(python.stacks()),
        frames_(store.stacks.frames()),
        heap_(heap),
        calls_(calls),
        layers_(layers) {
    FindCalledFiles();
  }

  ModulePaths Run() {
    ModulePaths paths;
    paths.texts.emplace_back();
    FlatMap<std::string, uint32_t> ids;
    FlatMap<PathKey, uint32_t, PathKeyHash> known;  // → id of its text
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      const uint32_t scope = calls_.scope_of_row[row - heap_.allocations.begin];
      const uint32_t layer = layers_[row - heap_.allocations.begin];
      const uint32_t file = scope == 0 ? 0 : called_file_[python_.NodeOf(store_.allocations.stack[row])];
      uint32_t id = 0;
      if (scope != 0 || layer != 0) {
        const auto [entry, is_new] = known.try_emplace(PathKey{scope, layer, file}, 0);
        if (is_new) {
          std::string text = Text(scope, layer, file);
          const auto [found, is_new_text] = ids.try_emplace(text, static_cast<uint32_t>(paths.texts.size()));
          if (is_new_text) paths.texts.push_back(std::move(text));
          entry->second = found->second;
        }
        id = entry->second;
      }
      paths.path_of_row.push_back(id);
      paths.layer_of_row.push_back(layer == 0 ? kNone : calls_.scopes[layer].index);
      paths.loop_of_row.push_back(layer == 0 ? kNone : AddToLoop(row, layer, paths));
    }
    return paths;
  }

 private:
  uint32_t AddToLoop(uint32_t row, uint32_t layer, ModulePaths& paths) {
    const ModuleScope& scope = calls_.scopes[layer];
    const uint64_t key = uint64_t{scope.parent} << 32 | scope.node;
    const auto [entry, is_new] = loops_.try_emplace(key, static_cast<uint32_t>(paths.loops.size()));
    if (is_new) {
      const std::string text = ScopeText(layer, 0);
      paths.loops.push_back({text.substr(0, text.rfind('[')), {0}, 0});
    }
    LayerLoop& loop = paths.loops[entry->second];
    loop.layer_count = std::max(loop.layer_count, scope.index + 1);
    if (loop.call.value == 0) loop.call = StackDownTo(scope.node, store_.allocations.stack[row]);
    return entry->second;
  }

  // The part of `stack` down to a node of Python calls; the empty stack where it is not below it.
  StackId StackDownTo(uint32_t node, StackId stack) const {
    const StackTable& stacks = store_.stacks.stacks();
    while (stack.value != 0 && python_.NodeOf(stack) != node) stack = stacks.parent[stack.value];
    return stack;
  }

  /// What a text is made from.
  struct PathKey {
    uint32_t scope, layer, file;
    bool operator==(const PathKey&) const = default;
  };
  struct PathKeyHash {
    using is_avalanching = void;
    size_t operator()(const PathKey& key) const { return HashBytes(&key, sizeof key); }
  };

  bool IsModuleCall(uint32_t node) const {
    return store_.String(frames_.file[stacks_.frame[node].value]).ends_with(kModuleCallFile);
  }

  // Of each stack, the file of the innermost module that runs in it: what the innermost module call called.
  void FindCalledFiles() {
    called_file_.resize(stacks_.size(), 0);
    std::vector<bool> is_call(frames_.size(), false);
    for (uint32_t frame = 0; frame < frames_.size(); ++frame)
      is_call[frame] = store_.String(frames_.file[frame]).ends_with(kModuleCallFile);
    for (uint32_t node = 1; node < stacks_.size(); ++node) {  // parents come first
      const uint32_t parent = stacks_.parent[node].value;
      const uint32_t frame = stacks_.frame[node].value;
      const bool is_called = parent != 0 && is_call[stacks_.frame[parent].value] && !is_call[frame];
      called_file_[node] = is_called ? frames_.file[frame].value : called_file_[parent];
    }
  }

  // The line of the program, or of a library above PyTorch, that called the module; else the file that did.
  std::string PlaceText(uint32_t node) const {
    for (uint32_t at = node; at != 0 && !IsModuleCall(at); at = stacks_.parent[at].value) {
      const uint32_t frame = stacks_.frame[at].value;
      const std::string_view file = store_.String(frames_.file[frame]);
      if (file.find(kTorchFolder) == std::string_view::npos)
        return fmt::format("{}:{}", ShortPath(file, 1), frames_.line[frame]);
    }
    return std::string(ShortPath(store_.String(frames_.file[stacks_.frame[node].value]), 1));
  }

  // Parts of a scope from below `top` on.
  std::string ScopeText(uint32_t scope, uint32_t top) const {
    std::vector<uint32_t> parts;
    for (; scope != top; scope = calls_.scopes[scope].parent) parts.push_back(scope);
    std::string text;
    for (size_t i = parts.size(); i-- > 0;) {
      const ModuleScope& part = calls_.scopes[parts[i]];
      const bool is_model = part.parent == 0 && part.index == kNone;
      if (is_model) continue;
      if (part.index != kNone) {
        if (text.empty()) text = IsModuleCall(part.node) ? "model" : PlaceText(part.node);
        text += fmt::format("[{}]", part.index);
      } else {
        text += fmt::format("{}{}", text.empty() ? "" : "/", PlaceText(part.node));
      }
    }
    return text;
  }

  std::string Text(uint32_t scope, uint32_t layer, uint32_t file) const {
    const uint32_t own_layer = calls_.LayerOf(scope);
    std::string text = layer == 0 ? "" : ScopeText(layer, 0);
    const std::string rest = ScopeText(scope, layer == own_layer ? layer : 0);  // a recompute does not name its layer
    if (!text.empty() && !rest.empty()) text += "/";
    text += rest;
    const std::string_view called = store_.String({file});
    if (file != 0 && (text.empty() || called.find(kTorchModules) != std::string_view::npos))
      text += fmt::format("{}{}", text.empty() ? "" : "/", ShortPath(called, 1));
    return text;
  }

  const Store& store_;
  const PythonCalls& python_;
  const StackTable& stacks_;
  const FrameTable& frames_;
  const Heap& heap_;
  const ModuleCalls& calls_;
  std::span<const uint32_t> layers_;
  std::vector<uint32_t> called_file_;  // by stack node; 0: no module runs
  FlatMap<uint64_t, uint32_t> loops_;  // scope around and node → loop
};

}  // namespace

ModulePaths FindModulePaths(const Store& store, const Heap& heap, const Timeline& timeline,
                            std::span<const Category> categories) {
  const PythonCalls python = FindPythonCalls(store);
  const ModuleCalls calls = FindModuleCalls(store, heap, timeline, python);
  const std::vector<uint32_t> layers = FindLayers(store, heap, timeline, categories, calls);
  return PathWriter(store, heap, python, calls, layers).Run();
}

}  // namespace memstrata
