#pragma once
// Bytes of one heap over its events: the curves that every view and figure starts from.

#include <optional>

#include "base/column.h"
#include "model/store/moment.h"
#include "model/store/store.h"

namespace memstrata {

/// Never an unnamed "size": requested by the program, rounded up to blocks, or reserved from the device.
enum class Measure : uint8_t { kRequested, kBlock, kReserved };

struct Curve {
  uint64_t begin_bytes = 0;      // before the first event
  Column<uint64_t> after_bytes;  // [event_count] after each event

  uint64_t At(Moment moment) const {
    return moment.event_count == 0 ? begin_bytes : after_bytes[moment.event_count - 1];
  }
};

struct Peak {
  uint64_t bytes = 0;
  Moment moment;  // the first of equal peaks
};

/// unit: bytes   cost: O(events + allocations)
/// kRequested: Σ requested sizes of live blocks, pending ones included. kBlock: Σ block sizes, derived for past blocks
/// (AllocationFlag::kBlockApproximate). kReserved: Σ segments; only for heaps with has_segments. A heap of an XPlane
/// profile: kRequested and kBlock are its recorded heap level, kReserved is stack + heap + free.
/// `reuse`: a curve that is no longer needed; its memory is taken.
Curve BuildCurve(const Store& store, const Heap& heap, Measure measure, Curve reuse = {});

/// Requested bytes of blocks that the program gave back and that are still live, because another stream uses them. A
/// block that is freed by the very next event did not wait and is left out, else every free would show as a spike.
/// unit: bytes   cost: O(events + allocations)
Curve BuildPendingCurve(const Store& store, const Heap& heap);
/// Whether any block waits so; without one that curve is 0 everywhere. cost: O(allocations), until the first one
bool HasPending(const Store& store, const Heap& heap);

Peak FindPeak(const Curve& curve);

/// For drawing: the range of events is cut into `column_count` parts of equal event count.
struct CurveColumn {
  uint64_t min_bytes = 0;
  uint64_t max_bytes = 0;
};
std::vector<CurveColumn> Reduce(const Curve& curve, uint32_t column_count);

}  // namespace memstrata
