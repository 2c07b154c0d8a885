#include "model/table/stack_tree.h"

namespace memstrata {

StackTree::StackTree() {
  stacks_.parent.PushBack({kNone});
  stacks_.frame.PushBack({kNone});
  stacks_.depth.PushBack(0);
}

FrameId StackTree::InternFrame(StringId function, StringId file, uint32_t line, FrameKind kind, StringId detail) {
  const FrameKey key{function.value, file.value, line, static_cast<uint32_t>(kind), detail.value};
  const auto [entry, is_new] = frame_ids_.try_emplace(key, static_cast<uint32_t>(frames_.size()));
  if (is_new) {
    frames_.function.PushBack(function);
    frames_.file.PushBack(file);
    frames_.line.PushBack(line);
    frames_.kind.PushBack(kind);
    frames_.detail.PushBack(detail);
  }
  return {entry->second};
}

StackId StackTree::InternChild(StackId caller, FrameId frame) {
  const uint64_t key = uint64_t{caller.value} << 32 | frame.value;
  const auto [entry, is_new] = child_ids_.try_emplace(key, static_cast<uint32_t>(stacks_.size()));
  if (is_new) {
    stacks_.parent.PushBack(caller);
    stacks_.frame.PushBack(frame);
    stacks_.depth.PushBack(stacks_.depth[caller.value] + 1);
  }
  return {entry->second};
}

StackId StackTree::InternStack(std::span<const FrameId> innermost_first) {
  StackId node{0};
  for (size_t i = innermost_first.size(); i > 0; --i) node = InternChild(node, innermost_first[i - 1]);
  return node;
}

FrameKind GuessFrameKind(std::string_view file, std::string_view function) {
  const auto contains = [](std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
  };
  if (contains(file, "torchinductor_") || contains(file, "fx_generated_") || file.starts_with("<eval_with_key>")) {
    return FrameKind::kCompiled;
  }
  if (file.ends_with(".py") || file.starts_with("<")) return FrameKind::kPython;
  if (file.empty() && function.empty()) return FrameKind::kUnknown;
  return FrameKind::kNative;
}

}  // namespace memstrata
