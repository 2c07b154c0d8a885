#pragma once
// A pickle value as the machine moves it: eight bytes, a kind and a payload. Containers, texts and large numbers are
// handles: the consumer of the machine decides what stands behind them, so that no tree of objects is ever built.

#include <cstddef>
#include <cstdint>

namespace memstrata::pickle {

/// The most keys of a dict whose shape the machine remembers.
inline constexpr size_t kMostShapeKeys = 24;

enum class Kind : uint8_t {
  kNone,
  kBool,
  kInt,     // fits 60 bits; the payload is the number
  kBigInt,  // handle: up to 64 bits
  kFloat,   // handle
  kText,    // handle; bytes objects too
  kList,    // handle; sets too
  kDict,    // handle
  kTuple,   // handle
  kGlobal,  // handle: the (refused or harmless) name of a class or function
};

class Value {
 public:
  Value() = default;
  constexpr Value(Kind kind, int64_t payload)
      : bits_(static_cast<uint64_t>(payload) << 4 | static_cast<uint64_t>(kind)) {}

  static constexpr bool FitsInline(int64_t number) {
    return number >= -(int64_t{1} << 59) && number < int64_t{1} << 59;
  }

  constexpr Kind kind() const { return static_cast<Kind>(bits_ & 15); }
  constexpr bool is(Kind kind) const { return this->kind() == kind; }
  constexpr int64_t payload() const { return static_cast<int64_t>(bits_) >> 4; }
  constexpr uint64_t handle() const { return bits_ >> 4; }
  constexpr uint64_t bits() const { return bits_; }
  constexpr bool operator==(const Value&) const = default;

 private:
  uint64_t bits_ = 0;
};

}  // namespace memstrata::pickle
