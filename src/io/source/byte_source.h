#pragma once
// A stream of bytes: a file, a buffer, or something that unpacks another source. Readers consume it front to back once,
// so that a 3 GB file needs a window of it in memory, not all of it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace memstrata {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills up to `into.size()` bytes and returns how many; 0 only at the end. Errors: kIo, kCorruptInput (broken
  /// container), kTruncatedInput (container ends early), kLimitExceeded.
  virtual Result<size_t> Read(std::span<std::byte> into) = 0;
};

/// Bytes that can be read at any position (what a zip directory needs).
class RandomAccess {
 public:
  virtual ~RandomAccess() = default;
  virtual uint64_t size_bytes() const = 0;
  /// Reads exactly `into.size()` bytes at `offset`, or fails.
  virtual Status ReadAt(uint64_t offset, std::span<std::byte> into) const = 0;
};

/// A view of bytes that someone else keeps alive.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : rest_(bytes) {}
  Result<size_t> Read(std::span<std::byte> into) override;

 private:
  std::string_view rest_;
};

class MemoryAccess final : public RandomAccess {
 public:
  explicit MemoryAccess(std::string bytes) : bytes_(std::move(bytes)) {}
  uint64_t size_bytes() const override { return bytes_.size(); }
  Status ReadAt(uint64_t offset, std::span<std::byte> into) const override;
  std::string_view view() const { return bytes_; }

 private:
  std::string bytes_;
};

/// A source whose first bytes can be looked at before they are read.
class PeekableSource final : public ByteSource {
 public:
  explicit PeekableSource(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}
  Result<size_t> Read(std::span<std::byte> into) override;
  /// The next bytes, `count` of them unless the source ends before; they stay to be read.
  Result<std::string_view> Peek(size_t count);

 private:
  std::unique_ptr<ByteSource> source_;
  std::vector<std::byte> head_;
  size_t head_used_ = 0;
};

/// All of a source as one string; kLimitExceeded when it is longer than `limit_bytes`.
Result<std::string> ReadAll(ByteSource& source, uint64_t limit_bytes);

}  // namespace memstrata
