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

bool IsDeviceOrPipe(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path) {
  std::string partial = IsDeviceOrPipe(path) ? "" : path + ".partial";
  const int descriptor = partial.empty()
                             ? open(path.c_str(), O_WRONLY | O_CLOEXEC)
                             : open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
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
  if (!partial_.empty()) unlink(partial_.c_str());
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
  if (partial_.empty()) return {};
  if (std::rename(partial_.c_str(), path_.c_str()) == 0) return {};
  const int number = errno;
  unlink(partial_.c_str());
  errno = number;
  return CannotWrite(path_);
}

Status WriteWhole(const std::string& path, std::string_view text) {
  MEMSTRATA_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file, OutputFile::Create(path));
  MEMSTRATA_TRY(file->Write(text));
  return file->Commit();
}

}  // namespace memstrata::cli
