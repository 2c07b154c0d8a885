#include "readers/xla/data_types.h"

#include <fmt/format.h>

#include <iterator>

namespace memstrata::xla {
namespace {

constexpr std::string_view kNames[] = {
    "INVALID",
    "float",
    "double",
    "int32",
    "uint8",
    "int16",
    "int8",
    "string",
    "complex64",
    "int64",
    "bool",
    "qint8",
    "quint8",
    "qint32",
    "bfloat16",
    "qint16",
    "quint16",
    "uint16",
    "complex128",
    "half",
    "resource",
    "variant",
    "uint32",
    "uint64",
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e4m3b11fnuz",
    "float8_e5m2fnuz",
    "int4",
    "uint4",
};
constexpr int64_t kReferenceOffset = 100;

}  // namespace

std::string DataTypeName(int64_t type) {
  constexpr auto kCount = static_cast<int64_t>(std::size(kNames));
  if (type >= 0 && type < kCount) return std::string(kNames[type]);
  if (type > kReferenceOffset && type < kReferenceOffset + kCount) {
    return fmt::format("{}_ref", kNames[type - kReferenceOffset]);
  }
  return fmt::format("unknown dtype enum ({})", type);
}

}  // namespace memstrata::xla
