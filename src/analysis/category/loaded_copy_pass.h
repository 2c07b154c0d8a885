#pragma once
// A checkpoint whose weights stay on the device beside those of the model.

#include "analysis/pass.h"

namespace memstrata {

std::vector<Finding> ReportLoadedCopy(const HeapAnalysis& analysis);

inline constexpr PassInfo kLoadedCopyPass = {
    "loaded_copy", "Does a loaded checkpoint keep a second copy of the weights?", ReportLoadedCopy};

}  // namespace memstrata
