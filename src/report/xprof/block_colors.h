#pragma once
// The colours that XProf gives to the blocks of its buffer timeline.

#include <cstddef>
#include <string_view>

namespace memstrata {

/// "#2196f3": the colour with this number. Observed in XProf's output for 63 numbers below 80; the others are ours.
std::string_view XProfBlockColor(size_t number);

}  // namespace memstrata
