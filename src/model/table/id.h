#pragma once
// Row numbers that cannot be mixed up: an Id<StackTag> is not an Id<FrameTag>.

#include <compare>
#include <cstdint>

namespace memstrata {

/// "No row" and "no sequence number", in every 32-bit column.
inline constexpr uint32_t kNone = 0xFFFFFFFF;
/// "No time" in a time_ns column.
inline constexpr int64_t kNoTime = INT64_MIN;
/// "Not known" in a size column.
inline constexpr uint64_t kUnknownBytes = UINT64_MAX;

template <class Tag>
struct Id {
  uint32_t value = kNone;

  bool has_value() const { return value != kNone; }
  auto operator<=>(const Id&) const = default;
};

using StringId = Id<struct StringTag>;  // 0 = the empty string
using FrameId = Id<struct FrameTag>;
using StackId = Id<struct StackTag>;  // 0 = no stack recorded
using HeapId = Id<struct HeapTag>;
using AllocationId = Id<struct AllocationTag>;
using SourceId = Id<struct SourceTag>;

}  // namespace memstrata
