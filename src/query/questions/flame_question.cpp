// flame: who holds the selected allocations, as a tree of call paths.

#include <fmt/format.h>

#include <algorithm>

#include "index/flame_tree.h"
#include "query/answer_parts.h"
#include "query/questions/questions.h"
#include "query/selection.h"

namespace memstrata {
namespace {

constexpr uint64_t kMostNodes = 50'000;
constexpr uint64_t kDefaultNodes = 5000;
constexpr std::string_view kRoots[] = {"caller", "callee"};

struct NodeText {
  std::string name;
  std::string_view function;
  std::string_view file;
  uint32_t line = 0;
  bool useful = true;
};

// Gives every frame, function, file, folder, shape or category a key, and keeps what to call it.
class PathMaker {
 public:
  PathMaker(SessionIndex& session, GroupBy by, bool from_callee)
      : session_(session), store_(session.store()), by_(by), from_callee_(from_callee) {}

  /// From the root of the graph to its leaves.
  std::vector<uint32_t> PathOf(uint32_t row) {
    const AllocationTable& table = store_.allocations;
    const StackId stack = table.stack[row];
    std::vector<uint32_t> path;
    const std::string_view category = kCategoryNames[static_cast<size_t>(session_.CategoryOfRow()[row])];
    if (by_ == GroupBy::kCategory) path.push_back(Key("category", category, {}));
    if (by_ == GroupBy::kShape)
      path.push_back(Key("shape", session_.Keys(by_).labels[KeyOfRow(session_, by_, row)], {}));
    if (stack.value == 0) {
      path.push_back(Key(category, RowLabel(session_, row), {}));  // one box for each category, in its colour
      return path;
    }
    const size_t first_frame = path.size();
    for (const FrameId frame : FramesOf(store_, stack)) {
      const uint32_t key = KeyOfFrame(frame);
      // Neighbouring frames of one function, file or folder are one box.
      const bool keeps_frames = by_ == GroupBy::kStack || by_ == GroupBy::kCategory || by_ == GroupBy::kShape;
      if (keeps_frames || path.size() == first_frame || path.back() != key) path.push_back(key);
    }
    if (!from_callee_) std::reverse(path.begin() + static_cast<ptrdiff_t>(first_frame), path.end());
    return path;
  }
  const NodeText& TextOf(uint32_t key) const { return texts_[key]; }

 private:
  uint32_t KeyOfFrame(FrameId frame) {
    const auto known = key_of_frame_.find(frame.value);
    if (known != key_of_frame_.end()) return known->second;
    const FrameTable& frames = store_.stacks.frames();
    const std::string_view function = store_.String(frames.function[frame.value]);
    const std::string_view file = store_.String(frames.file[frame.value]);
    const bool useful = !session_.Useful().IsPlumbing(frame);
    uint32_t key = 0;
    switch (by_) {
      case GroupBy::kFunction:
        key = Key(fmt::format("{}\n{}", function, file), ShortFunctionName(function), {"", function, file, 0, useful});
        break;
      case GroupBy::kFile:
        key = Key(file, ShortPath(file), {"", "", file, 0, useful});
        break;
      case GroupBy::kModule:
        key = Key(ModuleOf(file), ModuleOf(file), {"", "", file, 0, useful});
        break;
      default:
        key = Key(fmt::format("{}\n{}\n{}", function, file, frames.line[frame.value]), ShortFunctionName(function),
                  {"", function, file, frames.line[frame.value], useful});
    }
    key_of_frame_.emplace(frame.value, key);
    return key;
  }

  uint32_t Key(std::string_view identity, std::string_view name, NodeText text) {
    const auto [entry, is_new] =
        key_of_text_.try_emplace(fmt::format("{}\n{}", name, identity), static_cast<uint32_t>(texts_.size()));
    if (is_new) {
      text.name = name;
      texts_.push_back(std::move(text));
    }
    return entry->second;
  }

  SessionIndex& session_;
  const Store& store_;
  GroupBy by_;
  bool from_callee_;
  std::vector<NodeText> texts_;
  FlatMap<uint32_t, uint32_t> key_of_frame_;
  FlatMap<std::string, uint32_t> key_of_text_;
};

struct Weight {
  uint64_t bytes = 0;
  uint64_t block_count = 0;
  uint32_t example_row = kNone;
};

// One path per stack, category and, where they matter, shape, not per block. `shapes`: null where they do not.
void AddPaths(const HeapEntry& heap, const Selection& selection, const Grouping& categories, const StackKeys* shapes,
              PathMaker& paths, FlameTree& tree) {
  const AllocationTable& table = heap.store.allocations;
  FlatMap<uint64_t, uint32_t> index_of;
  FlatMap<uint64_t, uint32_t> index_of_shaped;
  std::vector<Weight> weights;
  const auto group_of = [&](uint32_t row) { return categories.rows.group_of_row[row - heap.heap.allocations.begin]; };
  for (const uint32_t row : selection.rows) {
    const bool is_preexisting = (table.flags[row] & kPreexisting) != 0;  // tells blocks without a stack apart
    uint64_t key = uint64_t{table.stack[row].value} << 32 | uint64_t{group_of(row)} << 1 | (is_preexisting ? 1 : 0);
    if (shapes != nullptr) {
      const auto dense = static_cast<uint32_t>(index_of.size());
      key = uint64_t{index_of.try_emplace(key, dense).first->second} << 32 | shapes->key_of_row[row];
    }
    FlatMap<uint64_t, uint32_t>& index = shapes == nullptr ? index_of : index_of_shaped;
    const auto [entry, is_new] = index.try_emplace(key, static_cast<uint32_t>(weights.size()));
    if (is_new) weights.push_back({0, 0, row});
    weights[entry->second].bytes += table.size_bytes[row];
    ++weights[entry->second].block_count;
  }
  for (const Weight& weight : weights) {
    const uint32_t stack = table.stack[weight.example_row].value;
    tree.Add(paths.PathOf(weight.example_row), weight.bytes, weight.block_count, group_of(weight.example_row),
             stack == 0 ? kNone : stack);
  }
}

void WriteNodes(FrameWriter& frame, const std::vector<FlameNode>& nodes, const PathMaker& paths) {
  std::vector<uint32_t> parent, block_count, line, stack;
  std::vector<uint16_t> depth, group;
  std::vector<uint64_t> bytes, self_bytes;
  std::vector<std::string_view> name, function, file;
  std::vector<uint8_t> useful;
  for (const FlameNode& node : nodes) {
    static const NodeText kAll{"all", "", "", 0, true};
    static const NodeText kSmaller{"… smaller", "", "", 0, true};
    const NodeText& text = node.parent == kNone ? kAll : node.is_merged ? kSmaller : paths.TextOf(node.key);
    parent.push_back(node.parent);
    depth.push_back(static_cast<uint16_t>(std::min<uint32_t>(node.depth, UINT16_MAX)));
    bytes.push_back(node.bytes);
    self_bytes.push_back(node.self_bytes);
    block_count.push_back(static_cast<uint32_t>(node.block_count));
    name.push_back(text.name);
    function.push_back(text.function);
    file.push_back(text.file);
    line.push_back(text.line);
    group.push_back(static_cast<uint16_t>(node.group));
    stack.push_back(node.stack);
    useful.push_back(text.useful ? 1 : 0);
  }
  frame.StartTable("nodes", nodes.size());
  frame.Values<uint32_t>("parent", "row", parent);
  frame.Values<uint16_t>("depth", "count", depth);
  frame.Bytes("bytes", bytes);
  frame.Bytes("self_bytes", self_bytes);
  frame.Values<uint32_t>("block_count", "count", block_count);
  frame.Strings("name", name);
  frame.Strings("function", function);
  frame.Strings("file", file);
  frame.Values<uint32_t>("line", "line", line);
  frame.Values<uint16_t>("group", "group", group);
  frame.Values<uint32_t>("stack", "stack", stack);
  frame.Values<uint8_t>("useful", "flag", useful);
}

Result<Answer> AnswerFlame(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(HeapEntry* const heap, HeapOf(session, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const Selection selection, SelectRows(*heap, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const size_t by,
                             parameters.Choice("by", std::span(kGroupByNames).first(kHolderGroupByCount), "stack"));
  MEMSTRATA_ASSIGN_OR_RETURN(const size_t root, parameters.Choice("root", kRoots, "caller"));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t max_nodes, parameters.Number("max_nodes", kMostNodes, kDefaultNodes));
  const Grouping& categories = session.GroupingOf(*heap, GroupBy::kCategory);
  PathMaker paths(session, static_cast<GroupBy>(by), root == 1);
  FlameTree tree(categories.rows.group_count);
  const StackKeys* const shapes =
      static_cast<GroupBy>(by) == GroupBy::kShape ? &session.Keys(GroupBy::kShape) : nullptr;
  AddPaths(*heap, selection, categories, shapes, paths, tree);
  const uint64_t total_bytes = tree.bytes();
  const uint64_t block_count = tree.block_count();
  const std::vector<FlameNode> nodes = tree.Finish(max_nodes);
  FrameWriter frame("flame");
  WriteGroups(frame.attributes(), categories);
  frame.attributes().Field("total_bytes", total_bytes);
  frame.attributes().Field("block_count", block_count);
  frame.attributes().Field("merged_count", tree.merged_count());
  WriteNodes(frame, nodes, paths);
  return Answer{Answer::Type::kFrame, std::move(frame).Finish()};
}

constexpr std::string_view kParameters[] = {"heap", "of", "seq", "begin", "end", "by", "root", "max_nodes"};

}  // namespace

const QuestionInfo kFlameQuestion = {"flame", kParameters, AnswerFlame};

}  // namespace memstrata
