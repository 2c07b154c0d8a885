#pragma once
// Marks of one step, each found or not there.

#include <optional>

#include "analysis/marks/marks.h"
#include "analysis/marks/step_view.h"

namespace memstrata {

// Of the forward.
std::optional<Mark> FindForwardRamp(const HeapAnalysis& analysis, const StepView& view);
std::optional<Mark> FindAutocastCopies(const HeapAnalysis& analysis, const StepView& view);
std::optional<Mark> FindAttentionSoftmax(const HeapAnalysis& analysis, const StepView& view);
std::optional<Mark> FindLossSoftmax(const HeapAnalysis& analysis, const StepView& view);
std::optional<Mark> FindLogitsSlab(const HeapAnalysis& analysis, const StepView& view);
// Of the backward.
std::optional<Mark> FindBackwardStartSpike(const HeapAnalysis& analysis, const StepView& view);
std::optional<Mark> FindBackwardCliff(const HeapAnalysis& analysis, const StepView& view);
std::optional<Mark> FindHeadGradient(const HeapAnalysis& analysis, const StepView& view);
std::optional<Mark> FindEmbeddingGradient(const HeapAnalysis& analysis, const StepView& view);
std::optional<Mark> FindGradientRamp(const HeapAnalysis& analysis, const StepView& view);
std::optional<Mark> FindRecomputeRipple(const HeapAnalysis& analysis, const StepView& view);
// Of the update.
std::optional<Mark> FindZeroGradSlope(const HeapAnalysis& analysis, const StepView& view);
std::optional<Mark> FindOptimizerStateInit(const HeapAnalysis& analysis, const StepView& view);
std::optional<Mark> FindForeachTemporaries(const HeapAnalysis& analysis, const StepView& view);
std::optional<Mark> FindOptimizerFlagpole(const HeapAnalysis& analysis, const StepView& view);

}  // namespace memstrata
