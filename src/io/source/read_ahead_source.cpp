#include "io/source/read_ahead_source.h"

#include <algorithm>
#include <cstring>
#include <system_error>

namespace memstrata {

ReadAheadSource::~ReadAheadSource() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ReadAheadSource::StartThread() {
  may_start_ = false;
  for (Block& block : blocks_) block.bytes = std::make_unique_for_overwrite<std::byte[]>(kBlockBytes);
  try {
    thread_ = std::thread([this] { ReadBlocks(); });
  } catch (const std::system_error&) {
    // Where no thread can be made, reading goes on without one.
  }
}

void ReadAheadSource::ReadBlocks() {
  for (uint64_t count = 0;; ++count) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return is_stopping_ || count < taken_count_ + kBlockCount; });
      if (is_stopping_) return;
    }
    Block& block = blocks_[count % kBlockCount];
    block.filled = source_->Read({block.bytes.get(), kBlockBytes});
    const bool is_last = !block.filled || *block.filled == 0;
    {
      const std::lock_guard lock(mutex_);
      filled_count_ = count + 1;
    }
    changed_.notify_all();
    if (is_last) return;
  }
}

Result<size_t> ReadAheadSource::Read(std::span<std::byte> into) {
  if (may_start_ && direct_bytes_ >= kDirectBytes) StartThread();
  if (!thread_.joinable()) {
    Result<size_t> got = source_->Read(into);
    direct_bytes_ += got.value_or(0);
    return got;
  }
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return filled_count_ > taken_count_; });
  }
  const Block& block = blocks_[taken_count_ % kBlockCount];
  if (!block.filled || *block.filled == 0) return block.filled;  // stays so
  const size_t count = std::min(into.size(), *block.filled - used_bytes_);
  std::memcpy(into.data(), block.bytes.get() + used_bytes_, count);
  used_bytes_ += count;
  if (used_bytes_ < *block.filled) return count;
  used_bytes_ = 0;
  {
    const std::lock_guard lock(mutex_);
    ++taken_count_;
  }
  changed_.notify_all();
  return count;
}

}  // namespace memstrata
