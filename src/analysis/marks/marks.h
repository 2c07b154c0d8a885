#pragma once
// The shapes of a memory timeline that a person would point at, with their bytes. What each looks like and how to read
// it: docs/explanation/marks.md.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/bands/bands.h"
#include "analysis/growth/growth.h"
#include "analysis/heap_analysis.h"
#include "analysis/marks/steep_fall.h"

namespace memstrata {

enum class MarkKind : uint8_t {
  kConstantBand,
  kForwardRamp,
  kAutocastCopies,
  kSoftmaxSpike,
  kLogitsSlab,
  kZeroGradSlope,
  kBackwardStartSpike,
  kBackwardCliff,
  kHeadGradient,
  kEmbeddingGradient,
  kGradientRamp,
  kRecomputeRipple,
  kOptimizerStateInit,
  kForeachTemporaries,
  kOptimizerFlagpole,
  kGrowth,
  kCacheGrowth,
  kSawtooth,
  kOneOffStep,
  kPoolGrowth,
  kFlat,
  kAnnotation,
};
inline constexpr std::string_view kMarkKindNames[] = {
    "constant_band",
    "forward_ramp",
    "autocast_copies",
    "softmax_spike",
    "logits_slab",
    "zero_grad_slope",
    "backward_start_spike",
    "backward_cliff",
    "head_gradient",
    "embedding_gradient",
    "gradient_ramp",
    "recompute_ripple",
    "optimizer_state_init",
    "foreach_temporaries",
    "optimizer_flagpole",
    "growth",
    "cache_growth",
    "sawtooth",
    "one_off_step",
    "pool_growth",
    "flat",
    "annotation",
};

struct Mark {
  MarkKind kind = MarkKind::kFlat;
  uint32_t step = kNone;  // kNone: of the whole recording
  uint32_t begin_seq = 0;
  uint32_t end_seq = 0;
  uint64_t bytes = 0;
  std::optional<uint32_t> count;
  std::string text;  // what it is here, with its numbers
  StackId stack{0};
  SteepFall fall;  // of a cliff: what a person sees fall, which is of more than activations
};

struct Marks {
  uint32_t step = kNone;  // the representative step that `anatomy` tells
  std::vector<Mark> marks;
  std::vector<uint32_t> anatomy;  // indices into marks, in program order
};

/// What a shape of this kind means, in one sentence.
std::string_view MarkReading(MarkKind kind);

/// "logits 4.64 GiB" and the like.
std::string BandLabel(const Band& band);

/// cost: O(events + allocations)
Marks FindMarks(const HeapAnalysis& analysis);

}  // namespace memstrata
