#include "io/pickle/window.h"

#include <fmt/format.h>

#include "base/units.h"

namespace memstrata::pickle {

bool Window::Refill(uint64_t count) {
  if (error_) return false;
  if (count > longest_bytes_) {
    error_ =
        Error{ErrorCode::kLimitExceeded,
              fmt::format("An item claims {} bytes; the limit for one item is {}.", count, FormatBytes(longest_bytes_)),
              {},
              offset_bytes()};
    return false;
  }
  const size_t kept = available();
  if (cursor != nullptr) {
    window_offset_ += static_cast<uint64_t>(cursor - Begin());
    std::memmove(buffer_.data(), cursor, kept);
  }
  size_t filled = kept;
  while (filled < count && !at_end_) {
    // Grows with what really arrives, not with what a length prefix claims.
    if (filled == buffer_.size()) buffer_.resize(buffer_.size() * 2);
    Result<size_t> got = source_.Read(std::span(buffer_).subspan(filled));
    if (!got) {
      error_ = std::move(got).error();
      break;
    }
    if (*got == 0) at_end_ = true;
    filled += *got;
  }
  cursor = Begin();
  limit = Begin() + filled;
  return filled >= count;
}

}  // namespace memstrata::pickle
