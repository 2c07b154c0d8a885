#include "cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace memstrata::cli {
namespace {

tl::unexpected<Error> CannotWrite(const std::string& path) {
  return tl::unexpected(Error{ErrorCode::kIo, fmt::format("It cannot be written: {}.", std::strerror(errno)), path});
}

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path) {
  struct stat info {};
  const bool special = stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);  // /dev/stdout and the like: no rename
  std::string partial = special ? path : path + ".partial";
  const int descriptor = open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | (special ? 0 : O_NOFOLLOW), 0600);
  if (descriptor < 0) return CannotWrite(path);
  std::FILE* file = fdopen(descriptor, "wb");
  if (file == nullptr) {
    close(descriptor);
    return CannotWrite(path);
  }
  return std::unique_ptr<OutputFile>(new OutputFile(path, std::move(partial), file));
}

OutputFile::~OutputFile() {
  if (file_ == nullptr) return;
  (void)std::fclose(file_);
  if (partial_ != path_) unlink(partial_.c_str());
}

Status OutputFile::Write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) return CannotWrite(path_);
  return {};
}

Status OutputFile::Commit() {
  const bool flushed = std::fflush(file_) == 0 && std::ferror(file_) == 0;
  if (!flushed) return CannotWrite(path_);
  (void)std::fclose(file_);
  file_ = nullptr;
  if (partial_ == path_ || std::rename(partial_.c_str(), path_.c_str()) == 0) return {};
  const int number = errno;
  unlink(partial_.c_str());
  errno = number;
  return CannotWrite(path_);
}

}  // namespace memstrata::cli
