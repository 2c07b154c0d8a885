// The zip members that matter: torch.save writes `NAME/data.pkl`, people zip a snapshot by hand. Read through the
// central directory, since local headers may leave sizes out. zip64 is understood (its 0x0001 extra field).

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "io/source/unpack.h"

namespace memstrata {
namespace {

// Layout constants: PKWARE APPNOTE 6.3, sections 4.3.7, 4.3.12, 4.3.15, 4.3.16.
constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kDirectoryEntry = 0x02014b50;
constexpr uint32_t kEndOfDirectory = 0x06054b50;
constexpr uint32_t kEndOfDirectory64 = 0x06064b50;
constexpr uint32_t kLocator64 = 0x07064b50;
constexpr uint64_t kLargestDirectoryBytes = 64ULL << 20;

struct Entry {
  std::string name;
  uint16_t flags = 0;
  uint16_t method = 0;
  uint64_t packed_bytes = 0;
  uint64_t unpacked_bytes = 0;
  uint64_t header_offset = 0;
};

template <class T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

tl::unexpected<Error> Damaged(uint64_t offset) {
  return Fail(ErrorCode::kCorruptInput, "The zip directory is damaged.", offset);
}

struct Directory {
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
};

// What the zip64 record says, whose locator stands before the end record at `end_offset`.
Result<Directory> FindDirectory64(const RandomAccess& archive, uint64_t end_offset) {
  std::byte locator[20];
  MEMSTRATA_TRY(archive.ReadAt(end_offset - sizeof locator, locator));
  if (Load<uint32_t>(locator) != kLocator64) return Damaged(end_offset);
  const auto record_offset = Load<uint64_t>(locator + 8);
  std::byte record[56];
  MEMSTRATA_TRY(archive.ReadAt(record_offset, record));
  if (Load<uint32_t>(record) != kEndOfDirectory64) return Damaged(record_offset);
  return Directory{Load<uint64_t>(record + 48), Load<uint64_t>(record + 40)};
}

Result<Directory> FindDirectory(const RandomAccess& archive) {
  constexpr uint64_t kEndBytes = 22;
  const uint64_t size = archive.size_bytes();
  if (size < kEndBytes) return Fail(ErrorCode::kTruncatedInput, "The zip archive is cut off.");
  std::vector<std::byte> tail(std::min<uint64_t>(size, kEndBytes + 65535));
  const uint64_t tail_offset = size - tail.size();
  MEMSTRATA_TRY(archive.ReadAt(tail_offset, tail));
  for (size_t at = tail.size() - kEndBytes + 1; at-- > 0;) {
    if (Load<uint32_t>(&tail[at]) != kEndOfDirectory) continue;
    Directory found{Load<uint32_t>(&tail[at + 16]), Load<uint32_t>(&tail[at + 12])};
    const bool zip64 = found.offset == 0xFFFFFFFF || found.size_bytes == 0xFFFFFFFF;
    if (zip64 && tail_offset + at >= 20) {
      MEMSTRATA_ASSIGN_OR_RETURN(found, FindDirectory64(archive, tail_offset + at));
    }
    if (found.offset > size || found.size_bytes > size - found.offset || found.size_bytes > kLargestDirectoryBytes) {
      return Damaged(tail_offset + at);
    }
    return found;
  }
  return Fail(ErrorCode::kTruncatedInput, "The zip archive has no directory at its end; it is cut off.");
}

// Values of 0xFFFFFFFF stand in the zip64 extra field instead, in this order.
void ApplyZip64Extra(std::span<const std::byte> extra, Entry& entry) {
  while (extra.size() >= 4) {
    const auto id = Load<uint16_t>(extra.data());
    const auto length = Load<uint16_t>(extra.data() + 2);
    if (extra.size() < 4U + length) return;
    if (id == 1) {
      std::span<const std::byte> values = extra.subspan(4, length);
      for (uint64_t* field : {&entry.unpacked_bytes, &entry.packed_bytes, &entry.header_offset}) {
        if (*field != 0xFFFFFFFF) continue;
        if (values.size() < 8) return;
        *field = Load<uint64_t>(values.data());
        values = values.subspan(8);
      }
    }
    extra = extra.subspan(4U + length);
  }
}

Result<std::vector<Entry>> ReadDirectory(const RandomAccess& archive) {
  constexpr size_t kFixedBytes = 46;
  MEMSTRATA_ASSIGN_OR_RETURN(const Directory directory, FindDirectory(archive));
  std::vector<std::byte> bytes(directory.size_bytes);
  MEMSTRATA_TRY(archive.ReadAt(directory.offset, bytes));
  std::vector<Entry> entries;
  for (size_t at = 0; at + kFixedBytes <= bytes.size();) {
    const std::byte* head = &bytes[at];
    if (Load<uint32_t>(head) != kDirectoryEntry) return Damaged(directory.offset + at);
    const size_t name_length = Load<uint16_t>(head + 28);
    const size_t extra_length = Load<uint16_t>(head + 30);
    const size_t comment_length = Load<uint16_t>(head + 32);
    if (at + kFixedBytes + name_length + extra_length + comment_length > bytes.size())
      return Damaged(directory.offset + at);
    Entry entry{std::string(reinterpret_cast<const char*>(head + kFixedBytes), name_length),
                Load<uint16_t>(head + 8),
                Load<uint16_t>(head + 10),
                Load<uint32_t>(head + 20),
                Load<uint32_t>(head + 24),
                Load<uint32_t>(head + 42)};
    ApplyZip64Extra({head + kFixedBytes + name_length, extra_length}, entry);
    if (!entry.name.ends_with('/')) entries.push_back(std::move(entry));
    at += kFixedBytes + name_length + extra_length + comment_length;
  }
  return entries;
}

// The packed bytes of one member.
class RangeSource final : public ByteSource {
 public:
  RangeSource(const RandomAccess& archive, uint64_t offset, uint64_t size)
      : archive_(archive), offset_(offset), rest_(size) {}
  Result<size_t> Read(std::span<std::byte> into) override {
    const size_t count = std::min<uint64_t>(into.size(), rest_);
    MEMSTRATA_TRY(archive_.ReadAt(offset_, into.first(count)));
    offset_ += count;
    rest_ -= count;
    return count;
  }

 private:
  const RandomAccess& archive_;
  uint64_t offset_;
  uint64_t rest_;
};

class DeflateSource final : public ByteSource {
 public:
  explicit DeflateSource(std::unique_ptr<ByteSource> packed) : packed_(std::move(packed)), buffer_(size_t{128} * 1024) {
    ready_ = inflateInit2(&stream_, -15) == Z_OK;  // raw deflate
  }
  ~DeflateSource() override {
    if (ready_) inflateEnd(&stream_);
  }
  Result<size_t> Read(std::span<std::byte> into) override {
    if (!ready_) return Fail(ErrorCode::kInternal, "The deflate decoder could not be started.");
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(std::min<size_t>(into.size(), 1U << 30));
    const uInt wanted = stream_.avail_out;
    while (stream_.avail_out == wanted && !at_end_) {
      if (stream_.avail_in == 0) {
        MEMSTRATA_ASSIGN_OR_RETURN(const size_t got, packed_->Read(buffer_));
        if (got == 0) return Fail(ErrorCode::kTruncatedInput, "The zip member ends too early.");
        stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
        stream_.avail_in = static_cast<uInt>(got);
      }
      const uInt in_before = stream_.avail_in;
      const int code = inflate(&stream_, Z_NO_FLUSH);
      MEMSTRATA_TRY(guard_.Add(in_before - stream_.avail_in, wanted - stream_.avail_out));
      if (code == Z_STREAM_END)
        at_end_ = true;
      else if (code != Z_OK && code != Z_BUF_ERROR)
        return Fail(ErrorCode::kCorruptInput, "The zip member is damaged.");
    }
    return size_t{wanted - stream_.avail_out};
  }

 private:
  std::unique_ptr<ByteSource> packed_;
  std::vector<std::byte> buffer_;
  z_stream stream_{};
  ExpansionGuard guard_;
  bool ready_ = false;
  bool at_end_ = false;
};

Result<std::unique_ptr<ByteSource>> OpenEntry(const RandomAccess& archive, const Entry& entry) {
  constexpr size_t kFixedBytes = 30;
  std::byte head[kFixedBytes];
  MEMSTRATA_TRY(archive.ReadAt(entry.header_offset, head));
  if (Load<uint32_t>(head) != kLocalHeader) return Damaged(entry.header_offset);
  if ((entry.flags & 1) != 0)
    return Fail(ErrorCode::kUnsupportedFormat, fmt::format("The zip member {} is encrypted.", entry.name));
  const uint64_t data = entry.header_offset + kFixedBytes + Load<uint16_t>(head + 26) + Load<uint16_t>(head + 28);
  auto packed = std::make_unique<RangeSource>(archive, data, entry.packed_bytes);
  if (entry.method == 0) return packed;
  if (entry.method == 8) return std::make_unique<DeflateSource>(std::move(packed));
  return Fail(ErrorCode::kUnsupportedFormat,
              fmt::format("The zip member {} uses compression method {}; only stored and deflate are read.", entry.name,
                          entry.method));
}

bool StartsLikePayload(const RandomAccess& archive, const Entry& entry) {
  Result<std::unique_ptr<ByteSource>> source = OpenEntry(archive, entry);
  if (!source) return false;
  char head[8];
  const Result<size_t> got = (*source)->Read(std::as_writable_bytes(std::span(head)));
  return got && LooksLikePayload({head, *got});
}

}  // namespace

Result<ZipMember> OpenZipMember(const RandomAccess& archive) {
  // Only the largest members are looked into: an archive of a million tiny files is no capture.
  constexpr size_t kMostCandidates = 64;
  MEMSTRATA_ASSIGN_OR_RETURN(std::vector<Entry> entries, ReadDirectory(archive));
  const uint64_t member_count = entries.size();
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    const bool a_torch = a.name.ends_with("/data.pkl");
    const bool b_torch = b.name.ends_with("/data.pkl");
    return a_torch != b_torch ? a_torch : a.unpacked_bytes > b.unpacked_bytes;
  });
  if (entries.size() > kMostCandidates) entries.resize(kMostCandidates);
  for (const Entry& entry : entries) {
    if (!StartsLikePayload(archive, entry)) continue;
    MEMSTRATA_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, OpenEntry(archive, entry));
    return ZipMember{std::move(source), entry.name, member_count - 1};
  }
  if (entries.size() == 1) MEMSTRATA_TRY(OpenEntry(archive, entries[0]));  // says why: encrypted, unknown method
  return Fail(ErrorCode::kUnsupportedFormat,
              "The zip archive holds no memory snapshot (no member that is a pickle or JSON).");
}

}  // namespace memstrata
