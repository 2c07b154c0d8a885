#include "base/gzip.h"

#include <zlib.h>

#include <new>

namespace memstrata {
namespace {

constexpr int kGzipWindowBits = 15 + 16;  // zlib's way to say: with a gzip header
constexpr size_t kPieceBytes = size_t{64} * 1024;

// zlib takes pointers to bytes it does not write through as non-const, and counts in 32 bits.
void SetInput(z_stream& stream, std::string_view& rest) {
  const std::string_view piece = rest.substr(0, 1U << 30);
  stream.next_in = const_cast<Bytef*>(static_cast<const Bytef*>(static_cast<const void*>(piece.data())));
  stream.avail_in = static_cast<uInt>(piece.size());
  rest.remove_prefix(piece.size());
}

size_t SetOutput(z_stream& stream, std::string& output) {
  const size_t used = output.size();
  output.resize(used + kPieceBytes);
  stream.next_out = static_cast<Bytef*>(static_cast<void*>(output.data() + used));
  stream.avail_out = kPieceBytes;
  return used;
}

}  // namespace

std::string GzipCompress(std::string_view bytes, int level) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, kGzipWindowBits, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  std::string output;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    if (stream.avail_in == 0 && !bytes.empty()) SetInput(stream, bytes);
    const size_t used = SetOutput(stream, output);
    status = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    output.resize(used + kPieceBytes - stream.avail_out);
  }
  deflateEnd(&stream);
  return output;
}

Result<std::string> GzipDecompress(std::string_view bytes, size_t limit_bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindowBits) != Z_OK) throw std::bad_alloc();
  std::string output;
  int status = Z_OK;
  while (status == Z_OK && output.size() <= limit_bytes) {
    if (stream.avail_in == 0) SetInput(stream, bytes);
    const size_t used = SetOutput(stream, output);
    status = inflate(&stream, Z_NO_FLUSH);
    output.resize(used + kPieceBytes - stream.avail_out);
  }
  inflateEnd(&stream);
  if (output.size() > limit_bytes)
    return Fail(ErrorCode::kLimitExceeded, "The gzip data unpacks to more than is allowed.");
  if (status != Z_STREAM_END) return Fail(ErrorCode::kCorruptInput, "The gzip data is damaged.");
  return output;
}

}  // namespace memstrata
