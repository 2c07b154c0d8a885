#pragma once
// A curve drawn in characters: live bytes as a filled area, the reserved level as dots above it.

#include <string>
#include <vector>

#include "index/curve.h"
#include "report/text/text_style.h"

namespace memstrata {

/// `live` and `reserved` (may be empty) have one entry per column. Rows are `height` lines, each ending in a newline,
/// with the top value labelled on the left.
std::string DrawCurve(const std::vector<CurveColumn>& live, const std::vector<CurveColumn>& reserved, int height,
                      const TextStyle& style);

}  // namespace memstrata
