#include "report/html/run_kinds.h"

#include <algorithm>

#include "query/answer_parts.h"
#include "query/selection.h"
#include "report/html/plane_table.h"

namespace memstrata {
namespace {

// Stacks that the kinds end in and all their callers, and the frames of these: renumbered from 1, 0 is none.
class UsedStacks {
 public:
  explicit UsedStacks(const StackTree& tree)
      : tree_(tree), new_stack_(tree.stacks().size(), 0), new_frame_(tree.frames().size(), 0) {}

  void Use(uint32_t stack) {
    for (; stack != 0 && new_stack_[stack] == 0; stack = tree_.stacks().parent[stack].value) new_stack_[stack] = 1;
  }
  void Number() {
    for (uint32_t stack = 1; stack < new_stack_.size(); ++stack) {
      if (new_stack_[stack] == 0) continue;
      stacks.push_back(stack);
      new_stack_[stack] = static_cast<uint32_t>(stacks.size());
      uint32_t& frame = new_frame_[tree_.stacks().frame[stack].value];
      if (frame != 0) continue;
      frames.push_back(tree_.stacks().frame[stack].value);
      frame = static_cast<uint32_t>(frames.size());
    }
  }
  uint64_t ParentOf(uint32_t stack) const { return new_stack_[tree_.stacks().parent[stack].value]; }
  uint64_t FrameOf(uint32_t stack) const { return new_frame_[tree_.stacks().frame[stack].value]; }

  std::vector<uint32_t> stacks;
  std::vector<uint32_t> frames;

 private:
  const StackTree& tree_;
  std::vector<uint32_t> new_stack_;
  std::vector<uint32_t> new_frame_;
};

}  // namespace

RunKinds::RunKinds(SessionIndex& session, HeapEntry& heap) : session_(session), heap_(heap) {}

uint32_t RunKinds::Of(uint32_t row) {
  const AllocationTable& table = session_.store().allocations;
  const auto group = [&](GroupBy by) -> uint32_t {
    return session_.GroupingOf(heap_, by).rows.group_of_row[row - heap_.heap.allocations.begin];
  };
  const Kind kind = {.size_bytes = table.size_bytes[row],
                     .block_bytes = table.block_bytes[row],
                     .stack = table.stack[row].value,
                     .free_stack = table.free_stack[row].value,
                     .stream = table.stream[row],
                     .pool = table.pool[row],
                     .file_key = KeyOfRow(session_, GroupBy::kFile, row),
                     .function_key = KeyOfRow(session_, GroupBy::kFunction, row),
                     .module_key = KeyOfRow(session_, GroupBy::kModule, row),
                     .shape_key = KeyOfRow(session_, GroupBy::kShape, row),
                     .category = static_cast<uint32_t>(session_.CategoryOfRow()[row]),
                     .flags = table.flags[row],
                     .stack_group = group(GroupBy::kStack),
                     .module_group = group(GroupBy::kModule),
                     .file_group = group(GroupBy::kFile),
                     .function_group = group(GroupBy::kFunction),
                     .category_group = group(GroupBy::kCategory),
                     .size_group = group(GroupBy::kSize)};
  const auto [entry, is_new] = index_of_.try_emplace(kind, static_cast<uint32_t>(kinds_.size()));
  if (is_new) kinds_.push_back(kind);
  return entry->second;
}

void RunKinds::Write(FrameWriter& frame) const {
  frame.StartTable("kinds", kinds_.size());
  const auto write = [&](std::string_view name, auto&& value_of) {
    std::vector<uint64_t> values;
    values.reserve(kinds_.size());
    for (const Kind& kind : kinds_) values.push_back(value_of(kind));
    WritePlanes(frame, name, values);
  };
  write("size", [](const Kind& kind) { return kind.size_bytes; });
  // Unknown is 0, else one more than the bytes.
  write("block", [](const Kind& kind) { return kind.block_bytes + 1; });
  write("stack", [](const Kind& kind) { return uint64_t{kind.stack}; });
  write("free_stack", [](const Kind& kind) { return uint64_t{kind.free_stack}; });
  write("stream", [](const Kind& kind) { return uint64_t{kind.stream}; });
  // Pools are rows of the table "pools" and counted from 1; 0 is none.
  write("pool", [](const Kind& kind) { return CountOrNone(kind.pool); });
  write("category", [](const Kind& kind) { return uint64_t{kind.category}; });
  write("flags", [](const Kind& kind) { return uint64_t{kind.flags}; });
  write("file", [](const Kind& kind) { return uint64_t{kind.file_key}; });
  write("function", [](const Kind& kind) { return uint64_t{kind.function_key}; });
  write("module", [](const Kind& kind) { return uint64_t{kind.module_key}; });
  write("shape", [](const Kind& kind) { return uint64_t{kind.shape_key}; });
  write("group_stack", [](const Kind& kind) { return uint64_t{kind.stack_group}; });
  write("group_module", [](const Kind& kind) { return uint64_t{kind.module_group}; });
  write("group_file", [](const Kind& kind) { return uint64_t{kind.file_group}; });
  write("group_function", [](const Kind& kind) { return uint64_t{kind.function_group}; });
  write("group_category", [](const Kind& kind) { return uint64_t{kind.category_group}; });
  write("group_size", [](const Kind& kind) { return uint64_t{kind.size_group}; });
  WriteKeys(frame);
  WriteStacks(frame);
}

// Only keys that occur: another heap of the session may have many more.
void RunKinds::WriteKeys(FrameWriter& frame) const {
  const auto write = [&](std::string_view name, GroupBy by, uint32_t Kind::*key_of_kind) {
    const StackKeys& keys = session_.Keys(by);
    std::vector<bool> is_used(keys.texts.size(), false);
    is_used[kNoStackKey] = is_used[kPreexistingKey] = true;
    for (const Kind& kind : kinds_) is_used[kind.*key_of_kind] = true;
    std::vector<uint64_t> numbers;
    std::vector<std::string_view> texts, labels;
    for (uint32_t key = 0; key < is_used.size(); ++key) {
      if (!is_used[key]) continue;
      numbers.push_back(key);
      texts.push_back(keys.texts[key]);
      labels.push_back(keys.labels[key]);
    }
    frame.StartTable(name, numbers.size());
    WritePlanes(frame, "key", Differences(numbers));
    frame.Strings("text", texts);
    frame.Strings("label", labels);
  };
  write("file_keys", GroupBy::kFile, &Kind::file_key);
  write("function_keys", GroupBy::kFunction, &Kind::function_key);
  write("module_keys", GroupBy::kModule, &Kind::module_key);
  write("shape_keys", GroupBy::kShape, &Kind::shape_key);
}

void RunKinds::WriteStacks(FrameWriter& frame) const {
  const Store& store = session_.store();
  UsedStacks used(store.stacks);
  std::vector<bool> holds_blocks(store.stacks.stacks().size(), false);
  for (const Kind& kind : kinds_) used.Use(kind.free_stack);
  // Also of blocks that are not kept: what was allocated under a stack is told of all.
  for (uint32_t row = heap_.heap.allocations.begin; row < heap_.heap.allocations.end; ++row) {
    const uint32_t stack = store.allocations.stack[row].value;
    used.Use(stack);
    holds_blocks[stack] = true;
  }
  used.Number();
  std::vector<uint64_t> id, parent, frame_of;
  std::vector<std::string> labels, places;
  for (const uint32_t stack : used.stacks) {
    id.push_back(stack);
    parent.push_back(used.ParentOf(stack));
    frame_of.push_back(used.FrameOf(stack));
    labels.push_back(holds_blocks[stack] ? StackLabel(store, session_.Useful(), {stack}) : "");
    places.push_back(holds_blocks[stack] ? StackPlace(store, session_.Useful(), {stack}) : "");
  }
  frame.StartTable("stacks", id.size());
  WritePlanes(frame, "id", Differences(id));
  WritePlanes(frame, "parent", parent);
  WritePlanes(frame, "frame", frame_of);
  frame.Strings("label", std::vector<std::string_view>(labels.begin(), labels.end()));
  frame.Strings("place", std::vector<std::string_view>(places.begin(), places.end()));
  const FrameTable& frames = store.stacks.frames();
  std::vector<std::string_view> function, file, short_file;
  std::vector<std::string> short_function, folder;
  std::vector<uint64_t> line, kind, useful;
  for (const uint32_t row : used.frames) {
    function.push_back(store.String(frames.function[row]));
    file.push_back(store.String(frames.file[row]));
    short_function.push_back(ShortFunctionName(function.back()));
    short_file.push_back(ShortPath(file.back()));
    folder.push_back(ModuleOf(file.back()));
    line.push_back(frames.line[row]);
    kind.push_back(static_cast<uint64_t>(frames.kind[row]));
    useful.push_back(session_.Useful().IsPlumbing({row}) ? 0 : 1);
  }
  frame.StartTable("frames", line.size());
  frame.Strings("function", function);
  frame.Strings("file", file);
  frame.Strings("short_function", std::vector<std::string_view>(short_function.begin(), short_function.end()));
  frame.Strings("short_file", short_file);
  frame.Strings("folder", std::vector<std::string_view>(folder.begin(), folder.end()));
  WritePlanes(frame, "line", line);
  WritePlanes(frame, "kind", kind);
  WritePlanes(frame, "useful", useful);
}

}  // namespace memstrata
