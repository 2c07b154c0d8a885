#pragma once
// All bytes of a source in one piece of memory whose read parts can be given back while the rest is still needed. A
// reader of a format whose names come after the data (XPlane) needs the whole input at hand, but not its events twice:
// once as bytes and once as columns.
//
// Cost: one copy of the input; growth moves page tables, not bytes. Not for: small inputs (ReadAll).

#include <cstdint>
#include <string_view>

#include "io/source/byte_source.h"

namespace memstrata {

class ScratchBytes {
 public:
  /// Reads `source` to its end. kLimitExceeded above `limit_bytes`, kIo when there is no memory.
  static Result<ScratchBytes> Read(ByteSource& source, uint64_t limit_bytes);

  ScratchBytes(ScratchBytes&& other) noexcept;
  ScratchBytes& operator=(ScratchBytes&&) = delete;
  ~ScratchBytes();

  std::string_view view() const { return {data_, size_bytes_}; }
  /// Gives the pages inside `part` (a piece of view()) back to the system; they read as zeros from now on.
  void Release(std::string_view part);

 private:
  ScratchBytes() = default;
  bool Grow(size_t capacity_bytes);

  char* data_ = nullptr;
  size_t size_bytes_ = 0;
  size_t capacity_bytes_ = 0;
};

}  // namespace memstrata
