#pragma once
// Reads an HloProto (a compiled XLA program with its buffer assignment) into a Program of the model. Field numbers:
// docs/formats/xla_buffers.md.

#include <string_view>

#include "base/result.h"
#include "model/store/programs.h"
#include "model/table/string_pool.h"

namespace memstrata::xla {

/// Whether the bytes start like an HloProto.
bool LooksLikeHloProto(std::string_view head);

/// kCorruptInput when the encoding is broken, kUnsupportedFormat when there is no module in it. A plan that is
/// inconsistent in itself is read as far as it goes, with Program::problem set.
Result<Program> ReadHloProto(std::string_view bytes, StringPool& strings);

}  // namespace memstrata::xla
