#include <zstd.h>

#include <vector>

#include "io/source/unpack.h"

namespace memstrata {
namespace {

class ZstdSource final : public ByteSource {
 public:
  explicit ZstdSource(std::unique_ptr<ByteSource> packed)
      : packed_(std::move(packed)), buffer_(ZSTD_DStreamInSize()), stream_(ZSTD_createDStream(), &ZSTD_freeDStream) {
    // A frame may ask for a window of up to 2 GiB; 128 MiB is the most that `zstd` itself takes without being told.
    if (stream_) ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, 27);
  }

  Result<size_t> Read(std::span<std::byte> into) override {
    if (!stream_) return Fail(ErrorCode::kInternal, "The zstd decoder could not be started.");
    ZSTD_outBuffer out{into.data(), into.size(), 0};
    while (out.pos == 0 && !into.empty()) {
      if (in_.pos == in_.size) {
        MEMSTRATA_ASSIGN_OR_RETURN(const size_t got, packed_->Read(buffer_));
        if (got == 0) {
          if (!frame_complete_) return Fail(ErrorCode::kTruncatedInput, "The zstd data ends too early.");
          return size_t{0};
        }
        in_ = {buffer_.data(), got, 0};
      }
      const size_t in_before = in_.pos;
      const size_t hint = ZSTD_decompressStream(stream_.get(), &out, &in_);
      if (ZSTD_isError(hint) != 0) return Fail(ErrorCode::kCorruptInput, "The zstd data is damaged.");
      frame_complete_ = hint == 0;
      MEMSTRATA_TRY(guard_.Add(in_.pos - in_before, out.pos));
    }
    return out.pos;
  }

 private:
  std::unique_ptr<ByteSource> packed_;
  std::vector<std::byte> buffer_;
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  ExpansionGuard guard_;
  bool frame_complete_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> MakeZstdSource(std::unique_ptr<ByteSource> packed) {
  return std::make_unique<ZstdSource>(std::move(packed));
}

}  // namespace memstrata
