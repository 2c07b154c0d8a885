#include "io/source/file_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace memstrata {
namespace {

Error SystemError(std::string_view what) {
  const int number = errno;
  const ErrorCode code = number == ENOENT || number == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo;
  return Error{code, fmt::format("{}: {}.", what, std::strerror(number))};
}

Status RefuseSpecialFile(const struct stat& info) {
  if (S_ISDIR(info.st_mode)) {
    return Fail(ErrorCode::kUnsupportedFormat, "This is a directory; name the file in it that should be read.");
  }
  if (S_ISFIFO(info.st_mode)) {
    return Fail(ErrorCode::kUnsupportedFormat,
                "This is a FIFO, which may never end; to read a stream, pipe it in and name the file \"-\".");
  }
  if (!S_ISREG(info.st_mode)) {
    return Fail(ErrorCode::kUnsupportedFormat, "This is a device or socket, not a file.");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<FileSource>> FileSource::Open(const std::string& path) {
  struct stat info {};
  if (path == "-") {
    const bool regular = fstat(STDIN_FILENO, &info) == 0 && S_ISREG(info.st_mode);
    const uint64_t size = regular ? static_cast<uint64_t>(info.st_size) : 0;
    const int copy = dup(STDIN_FILENO);
    if (copy < 0) return tl::unexpected(SystemError("Standard input cannot be read"));
    return std::unique_ptr<FileSource>(new FileSource(copy, size, regular));
  }
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return tl::unexpected(SystemError("It cannot be opened"));
  std::unique_ptr<FileSource> source(new FileSource(descriptor, 0, true));
  if (fstat(descriptor, &info) != 0) return tl::unexpected(SystemError("It cannot be examined"));
  MEMSTRATA_TRY(RefuseSpecialFile(info));
  source->size_bytes_ = static_cast<uint64_t>(info.st_size);
  (void)posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
  return source;
}

FileSource::~FileSource() { close(descriptor_); }

Result<size_t> FileSource::Read(std::span<std::byte> into) {
  while (true) {
    const ssize_t got = read(descriptor_, into.data(), into.size());
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) return tl::unexpected(SystemError("Reading failed"));
  }
}

Status FileSource::ReadAt(uint64_t offset, std::span<std::byte> into) const {
  size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = pread(descriptor_, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(SystemError("Reading failed"));
    if (got == 0) return Fail(ErrorCode::kTruncatedInput, "The file ends before a part that it refers to.", offset);
    done += static_cast<size_t>(got);
  }
  return {};
}

}  // namespace memstrata
