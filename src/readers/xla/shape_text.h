#pragma once
// Reads XLA's text form of a shape ("f32[200,16]{1,0:T(8,128)}", "(f32[], s32[4]{0})") back into an HloShape: the
// opposite of ShapeText.

#include <optional>
#include <string_view>

#include "readers/xla/hlo_shape.h"

namespace memstrata::xla {

/// The shape at the beginning of `text`, which is moved past it; nothing when there is none, when its element type is
/// not known, or when tuples are nested deeper than 64. Layouts are passed over: they do not change UnpaddedBytes.
std::optional<HloShape> TakeShape(std::string_view& text);

}  // namespace memstrata::xla
