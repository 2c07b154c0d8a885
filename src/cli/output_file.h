#pragma once
// Where a verb's result goes: standard output, or the file of `-o`. A file appears whole or not at all, readable by its
// owner only: a capture may show paths and code of a private project.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/byte_sink.h"

namespace memstrata::cli {

class OutputFile final : public ByteSink {
 public:
  /// Opens PATH.partial beside the final place, or PATH itself where that is a device or a pipe, which must not be
  /// replaced by a file. kIo when it cannot be written.
  static Result<std::unique_ptr<OutputFile>> Create(const std::string& path);
  ~OutputFile() override;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  Status Write(std::string_view bytes) override;
  /// Ends the output and makes the file appear under its name. Without it the partial file is removed.
  Status Commit();

 private:
  OutputFile(std::string path, std::string partial, std::FILE* file)
      : path_(std::move(path)), partial_(std::move(partial)), file_(file) {}

  std::string path_;
  std::string partial_;  // empty: the output goes to path_ itself
  std::FILE* file_;
};

/// The same for a text that is ready.
Status WriteWhole(const std::string& path, std::string_view text);

}  // namespace memstrata::cli
