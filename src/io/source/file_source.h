#pragma once
// Files of the machine as byte sources. Files are read, not mapped: a mapped file that another process truncates would
// kill us with SIGBUS, and reading through a small window is as fast.

#include <memory>
#include <string>

#include "io/source/byte_source.h"

namespace memstrata {

class FileSource final : public ByteSource, public RandomAccess {
 public:
  /// Opens a regular file, or standard input for "-". Directories, FIFOs, sockets and devices get their own sentence.
  static Result<std::unique_ptr<FileSource>> Open(const std::string& path);
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  Result<size_t> Read(std::span<std::byte> into) override;
  Status ReadAt(uint64_t offset, std::span<std::byte> into) const override;
  /// 0 for standard input that is not a file.
  uint64_t size_bytes() const override { return size_bytes_; }
  /// Whether ReadAt works.
  bool is_regular_file() const { return is_regular_file_; }

 private:
  FileSource(int descriptor, uint64_t size_bytes, bool is_regular_file)
      : descriptor_(descriptor), size_bytes_(size_bytes), is_regular_file_(is_regular_file) {}

  int descriptor_;
  uint64_t size_bytes_;
  bool is_regular_file_;
};

}  // namespace memstrata
