#pragma once
// Reads a file ahead in a thread of its own, so that copying it out of the system's cache, or waiting for the disk,
// takes no time from the reader. Memory: kBlockCount blocks, whatever the file. A short file is read without a thread.
//
// Not for: pipes, which may never give another byte and whose end this would wait for.

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "io/source/byte_source.h"

namespace memstrata {

class ReadAheadSource final : public ByteSource {
 public:
  explicit ReadAheadSource(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}
  /// Waits for the read that is under way, if one is.
  ~ReadAheadSource() override;
  ReadAheadSource(const ReadAheadSource&) = delete;
  ReadAheadSource& operator=(const ReadAheadSource&) = delete;

  /// The bytes of the source in its order; its error comes after all bytes that were read before it.
  Result<size_t> Read(std::span<std::byte> into) override;

 private:
  static constexpr size_t kBlockBytes = size_t{512} * 1024;
  static constexpr size_t kBlockCount = 4;
  static constexpr uint64_t kDirectBytes = 1 << 20;  // a thread is started only behind these

  struct Block {
    std::unique_ptr<std::byte[]> bytes;  // kBlockBytes
    Result<size_t> filled = 0;           // 0 bytes: the end
  };

  void StartThread();
  void ReadBlocks();

  std::unique_ptr<ByteSource> source_;  // of the thread, once there is one
  uint64_t direct_bytes_ = 0;
  bool may_start_ = true;
  size_t used_bytes_ = 0;  // of the block at hand
  std::array<Block, kBlockCount> blocks_;

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t filled_count_ = 0;  // blocks that the thread has filled
  uint64_t taken_count_ = 0;   // those of them that Read() has used up
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace memstrata
