#pragma once
// Call stacks as one tree: a stack is the id of its innermost node, a node is (parent = its caller, frame).
// Shared outer frames cost nothing, and parent < child always holds, so that any sum over the tree is one backward
// loop.

#include <span>
#include <string_view>
#include <vector>

#include "base/column.h"
#include "base/flat_map.h"
#include "model/table/id.h"
#include "model/table/string_pool.h"

namespace memstrata {

enum class FrameKind : uint8_t { kUnknown, kPython, kNative, kCompiled };

struct FrameTable {
  Column<StringId> function;
  Column<StringId> file;
  Column<uint32_t> line;  // 0 = unknown
  Column<FrameKind> kind;
  Column<StringId> detail;  // e.g. the FX node of a compiled frame; 0 = none

  size_t size() const { return function.size(); }
};

struct StackTable {
  Column<StackId> parent;  // the caller; the root (row 0) has none
  Column<FrameId> frame;   // the root has none
  Column<uint32_t> depth;  // frames from here to the root; root = 0

  size_t size() const { return parent.size(); }
};

class StackTree {
 public:
  StackTree();
  StackTree(StackTree&&) = default;
  StackTree& operator=(StackTree&&) = default;

  FrameId InternFrame(StringId function, StringId file, uint32_t line, FrameKind kind, StringId detail = {0});
  /// `innermost_first` as PyTorch and most formats write it. Empty gives the root (0).
  StackId InternStack(std::span<const FrameId> innermost_first);
  StackId InternChild(StackId caller, FrameId frame);

  const FrameTable& frames() const { return frames_; }
  /// To rewrite what frames say; interning afterwards would not find them.
  FrameTable& MutableFrames() { return frames_; }
  const StackTable& stacks() const { return stacks_; }

 private:
  struct FrameKey {
    uint32_t function, file, line, kind, detail;
    bool operator==(const FrameKey&) const = default;
  };
  struct FrameKeyHash {
    using is_avalanching = void;
    size_t operator()(const FrameKey& key) const { return HashBytes(&key, sizeof key); }
  };

  FrameTable frames_;
  StackTable stacks_;
  FlatMap<FrameKey, uint32_t, FrameKeyHash> frame_ids_;
  FlatMap<uint64_t, uint32_t> child_ids_;  // parent << 32 | frame → node
};

/// What language a frame is of, by its file name: *.py and <string> are Python, torchinductor and FX files compiled.
FrameKind GuessFrameKind(std::string_view file, std::string_view function);

}  // namespace memstrata
