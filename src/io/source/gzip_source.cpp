#include <zlib.h>

#include <algorithm>
#include <vector>

#include "io/pickle/sniff.h"
#include "io/source/unpack.h"

namespace memstrata {
namespace {

class GzipSource final : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> packed, std::shared_ptr<ContainerEnd> end)
      : packed_(std::move(packed)), end_(std::move(end)), buffer_(kBufferBytes) {
    // 15 + 16: the largest window, gzip header expected.
    ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK;
  }
  ~GzipSource() override {
    if (ready_) inflateEnd(&stream_);
  }

  Result<size_t> Read(std::span<std::byte> into) override {
    if (!ready_) return Fail(ErrorCode::kInternal, "The gzip decoder could not be started.");
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(std::min<size_t>(into.size(), 1U << 30));
    const uInt wanted = stream_.avail_out;
    while (stream_.avail_out == wanted && !at_end_) {
      if (stream_.avail_in == 0) MEMSTRATA_TRY(Refill());
      if (!at_end_) MEMSTRATA_TRY(Step());
    }
    return size_t{wanted - stream_.avail_out};
  }

 private:
  static constexpr size_t kBufferBytes = size_t{128} * 1024;

  Status Refill() {
    MEMSTRATA_ASSIGN_OR_RETURN(const size_t got, packed_->Read(buffer_));
    if (got == 0) {
      if (!between_members_) return Fail(ErrorCode::kTruncatedInput, "The gzip data ends too early.");
      at_end_ = true;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = static_cast<uInt>(got);
    return {};
  }

  Status Step() {
    const std::span<const Bytef> in = {stream_.next_in, stream_.avail_in};
    const uInt in_before = stream_.avail_in;
    const uInt out_before = stream_.avail_out;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    MEMSTRATA_TRY(guard_.Add(in_before - stream_.avail_in, out_before - stream_.avail_out));
    if (code == Z_STREAM_END) {
      between_members_ = true;
      inflateReset(&stream_);
      return {};
    }
    if (code == Z_OK || code == Z_BUF_ERROR) {
      if (in_before != stream_.avail_in) between_members_ = false;
      return {};
    }
    if (between_members_) {  // bytes after the last member that are no gzip; zeros are padding, as gunzip treats it
      at_end_ = true;
      end_->has_junk = std::any_of(in.begin(), in.end(), [](Bytef byte) { return byte != 0; });
      return {};
    }
    return Fail(ErrorCode::kCorruptInput, "The gzip data is damaged.");
  }

  std::unique_ptr<ByteSource> packed_;
  std::shared_ptr<ContainerEnd> end_;
  std::vector<std::byte> buffer_;
  z_stream stream_{};
  ExpansionGuard guard_;
  bool ready_ = false;
  bool at_end_ = false;
  bool between_members_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> MakeGzipSource(std::unique_ptr<ByteSource> packed, std::shared_ptr<ContainerEnd> end) {
  return std::make_unique<GzipSource>(std::move(packed), std::move(end));
}

Status ExpansionGuard::Add(size_t packed_bytes, size_t unpacked_bytes) {
  constexpr uint64_t kAlwaysAllowedBytes = 64ULL << 20;
  constexpr uint64_t kLargestRatio = 400;
  packed_bytes_ += packed_bytes;
  unpacked_bytes_ += unpacked_bytes;
  if (unpacked_bytes_ > kAlwaysAllowedBytes && unpacked_bytes_ / kLargestRatio > packed_bytes_) {
    return Fail(ErrorCode::kLimitExceeded,
                "The compressed data unpacks to more than 400 times its size; this is no capture.");
  }
  return {};
}

bool LooksLikePayload(std::string_view head) {
  const auto byte = [&](size_t i) { return i < head.size() ? static_cast<unsigned char>(head[i]) : 0U; };
  const bool gzip = byte(0) == 0x1F && byte(1) == 0x8B;
  const bool zstd = byte(0) == 0x28 && byte(1) == 0xB5 && byte(2) == 0x2F && byte(3) == 0xFD;
  const bool zip = byte(0) == 'P' && byte(1) == 'K' && byte(2) == 3 && byte(3) == 4;
  const bool json = byte(0) == '{' || byte(0) == '[';
  return pickle::LooksLikePickle(head) || gzip || zstd || zip || json;
}

}  // namespace memstrata
