#pragma once
// The part of the input that the pickle machine looks at: a window that slides over a ByteSource. Consumed bytes are
// forgotten, so that memory does not grow with the file.

#include <cstdint>
#include <cstring>
#include <vector>

#include "io/source/byte_source.h"

namespace memstrata::pickle {

class Window {
 public:
  /// `longest_bytes`: the longest single item (text) that may be asked for.
  Window(ByteSource& source, uint64_t longest_bytes)
      : source_(source), longest_bytes_(longest_bytes), buffer_(kWindowBytes) {}

  const uint8_t* cursor = nullptr;  // next byte; the machine moves it
  const uint8_t* limit = nullptr;   // one past the last byte in the window

  size_t available() const { return static_cast<size_t>(limit - cursor); }
  /// Position of `cursor` in the whole input.
  uint64_t offset_bytes() const { return window_offset_ + static_cast<uint64_t>(cursor - Begin()); }

  /// Tries to have `count` bytes at the cursor. False at the end of the input, on an error (see error()), or when
  /// `count` is over the limit (then error() says so).
  bool Ensure(uint64_t count) { return available() >= count || Refill(count); }
  bool at_end() const { return at_end_; }
  /// The error that stopped reading, if any.
  const std::optional<Error>& error() const { return error_; }

 private:
  static constexpr size_t kWindowBytes = size_t{256} * 1024;  // stays in the second-level cache

  const uint8_t* Begin() const { return reinterpret_cast<const uint8_t*>(buffer_.data()); }
  bool Refill(uint64_t count);

  ByteSource& source_;
  uint64_t longest_bytes_;
  std::vector<std::byte> buffer_;
  uint64_t window_offset_ = 0;
  bool at_end_ = false;
  std::optional<Error> error_;
};

}  // namespace memstrata::pickle
