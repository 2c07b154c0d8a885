#pragma once
// Names of element types: TensorFlow's DataType (in memory events) and XLA's PrimitiveType (in HLO shapes).

#include <cstdint>
#include <string>
#include <string_view>

namespace memstrata::xla {

/// "float", "bfloat16", "float_ref", "INVALID"; "unknown dtype enum (N)" for numbers that TensorFlow does not define.
/// Source of the numbers: TensorFlow types.proto.
std::string DataTypeName(int64_t type);

}  // namespace memstrata::xla
