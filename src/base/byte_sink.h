#pragma once
// Where output goes: a file, standard output or a string. Writers see only this, so that none of them prints.

#include <cstdio>
#include <string>
#include <string_view>

#include "base/result.h"

namespace memstrata {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  /// Appends all of `bytes`, or fails with kIo (disk full, closed pipe).
  virtual Status Write(std::string_view bytes) = 0;
};

class StringSink final : public ByteSink {
 public:
  Status Write(std::string_view bytes) override {
    text_.append(bytes);
    return {};
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Writes to an open C stream that the caller keeps and closes.
class FileSink final : public ByteSink {
 public:
  explicit FileSink(std::FILE* file) : file_(file) {}
  Status Write(std::string_view bytes) override {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
      return Fail(ErrorCode::kIo, "The output could not be written (disk full or closed pipe).");
    }
    return {};
  }

 private:
  std::FILE* file_;
};

}  // namespace memstrata
