#pragma once
// Follows the segment events of one heap into reserved ranges with a lifetime, and says what was reserved before the
// first event.

#include <map>

#include "model/store/store_builder.h"

namespace memstrata {

class SegmentTracker {
 public:
  SegmentTracker(StoreBuilder& builder, Heap& heap)
      : builder_(builder), heap_(heap), table_(builder.store().segments) {}

  /// Reads heap.events and heap.final_segments; fills heap.segments and heap.reserved_begin_bytes. `final_known`:
  /// whether the final segments belong to the moment after the last event.
  void Run(bool final_known);

 private:
  struct Open {
    uint64_t size_bytes;
    uint32_t row;
  };
  using OpenMap = std::map<uint64_t, Open>;  // by address

  uint32_t AddRow(uint64_t addr, uint64_t size_bytes, SegmentKind kind, uint32_t begin_seq, uint32_t stream,
                  uint32_t pool, StackId stack);
  void Reserve(uint32_t row, uint32_t seq, bool mapped);
  void Release(uint32_t row, uint32_t seq, bool mapped);
  void AddPreexisting(uint64_t addr, uint64_t size_bytes, uint32_t row, uint32_t seq, bool mapped);
  OpenMap::iterator FirstTouching(uint64_t addr);
  void ExplainFinalSegments();
  void NoteSum(uint64_t final_bytes, int64_t net_bytes);

  StoreBuilder& builder_;
  Heap& heap_;
  SegmentTable& table_;
  OpenMap open_;
};

}  // namespace memstrata
