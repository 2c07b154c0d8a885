#pragma once
// One simulated device: every allocation and free of a step goes through it and is written down, so that afterwards the
// peak, its phase and what was alive at it can be read off. Memory is counted, never touched.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/caching_allocator.h"

namespace memstrata::plan::eager {

enum class Category : uint8_t {
  kParameter,
  kBuffer,
  kInput,
  kGradient,
  kOptimizerState,
  kActivation,
  kAutocastCopy,
  kLogits,
  kForwardTemporary,
  kBackwardTemporary,
  kOptimizerTemporary,
  kKvCache,
  kWorkspace,
  kCommunication,
  kOther,
};
inline constexpr size_t kCategoryCount = 15;
using CategoryBytes = std::array<uint64_t, kCategoryCount>;

enum class Phase : uint8_t { kBuild, kInput, kForward, kBackward, kOptimizer, kZeroGrad, kPrefill, kDecode };
inline constexpr size_t kPhaseCount = 8;
std::string_view PhaseName(Phase phase);

/// What was alive when the sum of allocated bytes was highest.
struct Peak {
  uint64_t allocated_bytes = 0;
  uint64_t requested_bytes = 0;
  uint32_t step = 0;
  CategoryBytes live{};         // requested bytes
  uint64_t rounding_bytes = 0;  // allocated - requested
};

struct OutOfMemory {
  Phase phase = Phase::kBuild;
  uint32_t step = 0;
  uint64_t requested_bytes = 0;
  uint64_t allocated_bytes = 0;
  uint64_t reserved_bytes = 0;
};

class Device {
 public:
  using BlockId = uint32_t;

  explicit Device(std::optional<uint64_t> limit_bytes) : allocator_(limit_bytes) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  BlockId Allocate(uint64_t requested_bytes, Category category);
  void Free(BlockId id);
  void Relabel(BlockId id, Category category) { blocks_[id].category = category; }
  Category category(BlockId id) const { return blocks_[id].category; }

  /// The stream whose memory what follows takes; 0 is the one of the computation.
  void set_stream(uint32_t stream) { stream_ = stream; }
  void Enter(Phase phase, uint32_t step);
  Phase phase() const { return phase_; }
  /// Gives every live block of category `from` the category `to` (a temporary that outlives the forward is an
  /// activation).
  void RelabelLive(Category from, Category to);

  uint64_t allocated_bytes() const { return allocator_.allocated_bytes(); }
  uint64_t peak_reserved_bytes() const { return allocator_.peak_reserved_bytes(); }
  uint64_t largest_request_bytes() const { return largest_request_bytes_; }
  uint64_t flush_count() const { return allocator_.flush_count(); }
  const std::optional<OutOfMemory>& out_of_memory() const { return out_of_memory_; }

  /// Live requested bytes of each category now.
  CategoryBytes LiveBytes() const;
  /// Highest allocated bytes in `phase` from `first_step` on; nothing when the phase did not occur.
  std::optional<uint64_t> PhasePeak(Phase phase, uint32_t first_step) const;
  /// The phase in which the sum of requested bytes is highest from `first_step` on.
  Phase PeakPhase(uint32_t first_step) const;
  /// The highest point from `first_step` on, with what was alive then. Cost O(events).
  Peak FindPeak(uint32_t first_step) const;

 private:
  struct BlockRecord {
    sim::BlockId block = sim::kNoBlock;
    uint64_t requested_bytes = 0;
    uint64_t block_bytes = 0;
    Category category = Category::kOther;
  };
  struct Event {
    BlockId block;
    bool is_free;
  };
  struct Span {  // events of one phase of one step
    Phase phase;
    uint32_t step;
    size_t begin_event;
    uint64_t peak_allocated_bytes;
    uint64_t peak_requested_bytes;
  };

  sim::CachingAllocator allocator_;
  std::vector<BlockRecord> blocks_;
  std::vector<Event> events_;
  std::vector<Span> spans_;
  uint64_t requested_live_bytes_ = 0;
  uint64_t largest_request_bytes_ = 0;
  Phase phase_ = Phase::kBuild;
  uint32_t stream_ = 0;
  std::optional<OutOfMemory> out_of_memory_;
};

}  // namespace memstrata::plan::eager
