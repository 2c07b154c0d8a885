#pragma once
// The table of stack frames that an HloModule carries (StackFrameIndexProto): instructions name a frame, a frame names
// its caller.

#include <string_view>
#include <vector>

#include "model/store/programs.h"
#include "model/table/string_pool.h"

namespace memstrata::xla {

class StackFrames {
 public:
  StackFrames() = default;
  /// Throws protozero::exception on broken encoding.
  StackFrames(std::string_view bytes, StringPool& strings);

  /// The frame with this id (from 1) and its callers, at most 256; empty for ids that do not exist.
  std::vector<ProgramFrame> Chain(int64_t id) const;

 private:
  struct Location {
    int64_t file = 0;
    uint32_t line = 0;
    uint32_t column = 0;
  };
  struct Frame {
    int64_t location = 0;
    int64_t parent = 0;
  };

  std::vector<StringId> files_;
  std::vector<Location> locations_;
  std::vector<Frame> frames_;
};

}  // namespace memstrata::xla
