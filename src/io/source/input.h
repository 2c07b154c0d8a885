#pragma once
// One input file, unwrapped: what readers probe and read.

#include <memory>
#include <string>
#include <vector>

#include "io/source/file_source.h"
#include "io/source/unpack.h"

namespace memstrata {

/// The head that readers look at is at most this long.
inline constexpr size_t kProbeBytes = size_t{64} * 1024;

struct Input {
  std::string file;                   // as named by the user
  uint64_t file_size_bytes = 0;       // of the outermost file; 0 for a pipe
  std::vector<std::string> wrappers;  // outermost first: "gzip", "zip member a/data.pkl", "base64 in HTML"
  uint64_t other_member_count = 0;    // members of a zip archive that are not read
  std::unique_ptr<PeekableSource> bytes;
  std::shared_ptr<ContainerEnd> container_end = std::make_shared<ContainerEnd>();
  std::shared_ptr<uint64_t> file_read_bytes = std::make_shared<uint64_t>(0);  // of the outermost file, front to back
  // The same bytes at any position where nothing had to be unpacked, else null.
  const RandomAccess* plain_file = nullptr;
  // Keeps what `bytes` reads from alive.
  std::vector<std::unique_ptr<RandomAccess>> archives;
};

/// Opens a file ("-" = standard input) and takes gzip, zstd, zip and HTML off it, at most four layers deep.
/// Errors name what the file is: empty, a directory, a FIFO, unreadable, damaged, an archive without a capture.
Result<Input> OpenInput(const std::string& path);

/// The same over bytes in memory, for tests and fuzzers.
Result<Input> UnwrapBytes(std::string name, std::string bytes);

}  // namespace memstrata
