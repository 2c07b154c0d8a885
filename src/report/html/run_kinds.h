#pragma once
// What blocks of a run have in common: the same size from the same place, for the same purpose. Most runs have a few
// thousand of these kinds and a million blocks.

#include <vector>

#include "base/flat_map.h"
#include "query/session_index.h"

namespace memstrata {

class FrameWriter;

class RunKinds {
 public:
  RunKinds(SessionIndex& session, HeapEntry& heap);

  /// The kind of a row of the allocation table, in the order of first use.
  uint32_t Of(uint32_t row);
  /// Tables: kinds; keys (names that kinds are summed up by); stacks and frames that they refer to.
  void Write(FrameWriter& frame) const;

 private:
  struct Kind {
    uint64_t size_bytes, block_bytes;
    uint32_t stack, free_stack, stream, pool, file_key, function_key, module_key, shape_key;
    uint32_t category, flags;
    uint32_t stack_group, module_group, file_group, function_group, category_group, size_group;
    bool operator==(const Kind&) const = default;
  };
  struct KindHash {
    using is_avalanching = void;
    size_t operator()(const Kind& kind) const { return HashBytes(&kind, sizeof kind); }
  };
  static_assert(std::has_unique_object_representations_v<Kind>, "hashed as bytes");

  void WriteKeys(FrameWriter& frame) const;
  void WriteStacks(FrameWriter& frame) const;

  SessionIndex& session_;
  HeapEntry& heap_;
  std::vector<Kind> kinds_;
  FlatMap<Kind, uint32_t, KindHash> index_of_;
};

}  // namespace memstrata
