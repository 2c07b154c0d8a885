#include "io/source/byte_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/units.h"

namespace memstrata {

Result<size_t> MemorySource::Read(std::span<std::byte> into) {
  const size_t count = std::min(into.size(), rest_.size());
  if (count > 0) std::memcpy(into.data(), rest_.data(), count);
  rest_.remove_prefix(count);
  return count;
}

Status MemoryAccess::ReadAt(uint64_t offset, std::span<std::byte> into) const {
  if (offset > bytes_.size() || into.size() > bytes_.size() - offset) {
    return Fail(ErrorCode::kTruncatedInput, "The data ends before a part that it refers to.", offset);
  }
  if (!into.empty()) std::memcpy(into.data(), bytes_.data() + offset, into.size());
  return {};
}

Result<size_t> PeekableSource::Read(std::span<std::byte> into) {
  const size_t buffered = head_.size() - head_used_;
  if (buffered == 0) return source_->Read(into);
  const size_t count = std::min(into.size(), buffered);
  std::memcpy(into.data(), head_.data() + head_used_, count);
  head_used_ += count;
  return count;
}

Result<std::string_view> PeekableSource::Peek(size_t count) {
  head_.erase(head_.begin(), head_.begin() + static_cast<ptrdiff_t>(head_used_));
  head_used_ = 0;
  size_t filled = head_.size();
  if (filled < count) head_.resize(count);
  while (filled < count) {
    Result<size_t> got = source_->Read({head_.data() + filled, count - filled});
    if (!got || *got == 0) {
      head_.resize(filled);
      // What was read before the error is still worth looking at; the error comes again when it is reached.
      if (!got && filled == 0) return tl::unexpected(std::move(got).error());
      break;
    }
    filled += *got;
  }
  return std::string_view(reinterpret_cast<const char*>(head_.data()), std::min(filled, count));
}

Result<std::string> ReadAll(ByteSource& source, uint64_t limit_bytes) {
  std::string all;
  size_t filled = 0;
  while (true) {
    all.resize(filled + std::max(size_t{64} * 1024, filled / 2));
    MEMSTRATA_ASSIGN_OR_RETURN(const size_t got, source.Read(std::as_writable_bytes(std::span(all)).subspan(filled)));
    filled += got;
    if (filled > limit_bytes) {
      return Fail(ErrorCode::kLimitExceeded,
                  fmt::format("It is larger than the limit of {} for this kind of file.", FormatBytes(limit_bytes)));
    }
    if (got == 0) break;
  }
  all.resize(filled);
  return all;
}

}  // namespace memstrata
