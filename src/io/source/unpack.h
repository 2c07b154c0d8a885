#pragma once
// The containers that captures come in: gzip, zstd, a zip member, and the base64 inside the HTML pages that PyTorch's
// own viewer script writes. Each is a ByteSource over another one.

#include <memory>
#include <string>

#include "io/source/byte_source.h"

namespace memstrata {

/// Guards against expansion bombs: one layer may unpack to 64 MiB, or to 400 times the packed data read so far.
/// (Deflate ends at 1,032 times, reached by nothing but runs of one byte; real snapshots lie below 100.)
class ExpansionGuard {
 public:
  /// Counts one step; kLimitExceeded when the ratio is beyond belief.
  Status Add(size_t packed_bytes, size_t unpacked_bytes);

 private:
  uint64_t packed_bytes_ = 0;
  uint64_t unpacked_bytes_ = 0;
};

/// What containers told when they had been read to their end.
struct ContainerEnd {
  bool has_junk = false;  // bytes follow that are neither a part of it nor padding
};

/// Several gzip members after each other are one stream, as gunzip reads them.
std::unique_ptr<ByteSource> MakeGzipSource(std::unique_ptr<ByteSource> packed, std::shared_ptr<ContainerEnd> end);
std::unique_ptr<ByteSource> MakeZstdSource(std::unique_ptr<ByteSource> packed);
/// The first base64 text between quotes that decodes to something we may know (see LooksLikePayload).
std::unique_ptr<ByteSource> MakeHtmlBase64Source(std::unique_ptr<ByteSource> page);

struct ZipMember {
  std::unique_ptr<ByteSource> source;
  std::string name;
  uint64_t other_member_count = 0;  // files of the archive that are not read
};
/// The member that holds the capture: `*/data.pkl` of torch.save if there is one, else the largest member that looks
/// like a pickle or JSON. `archive` must outlive the source.
Result<ZipMember> OpenZipMember(const RandomAccess& archive);

/// Whether decoded bytes start like a capture: pickle, JSON, gzip, zstd or zip.
bool LooksLikePayload(std::string_view head);

}  // namespace memstrata
