#include "io/source/input.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>

namespace memstrata {
namespace {

const std::string kPickle = std::string("\x80\x04", 2) + std::string(1000, 'N') + ".";

std::string Deflate(const std::string& bytes, int window_bits) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(compressBound(bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}
std::string Gzip(const std::string& bytes) { return Deflate(bytes, 15 + 16); }
std::string Zstd(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

template <class T>
void Put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
// A zip archive of one member, with sizes in the directory alone, as streaming writers make it.
std::string Zip(const std::string& name, const std::string& bytes, bool deflated, uint16_t flags = 8) {
  const std::string packed = deflated ? Deflate(bytes, -15) : bytes;
  const auto method = static_cast<uint16_t>(deflated ? 8 : 0);
  std::string out;
  Put<uint32_t>(out, 0x04034b50), Put<uint16_t>(out, 20), Put<uint16_t>(out, flags), Put<uint16_t>(out, method),
      Put<uint32_t>(out, 0);
  Put<uint32_t>(out, 0), Put<uint32_t>(out, 0), Put<uint32_t>(out, 0),
      Put<uint16_t>(out, static_cast<uint16_t>(name.size())), Put<uint16_t>(out, 0);
  out += name + packed;
  const auto directory = static_cast<uint32_t>(out.size());
  Put<uint32_t>(out, 0x02014b50), Put<uint16_t>(out, 20), Put<uint16_t>(out, 20), Put<uint16_t>(out, flags),
      Put<uint16_t>(out, method);
  Put<uint32_t>(out, 0), Put<uint32_t>(out, 0), Put<uint32_t>(out, static_cast<uint32_t>(packed.size())),
      Put<uint32_t>(out, static_cast<uint32_t>(bytes.size()));
  Put<uint16_t>(out, static_cast<uint16_t>(name.size())), Put<uint16_t>(out, 0), Put<uint16_t>(out, 0),
      Put<uint16_t>(out, 0), Put<uint16_t>(out, 0);
  Put<uint32_t>(out, 0), Put<uint32_t>(out, 0);
  out += name;
  const auto directory_bytes = static_cast<uint32_t>(out.size()) - directory;
  Put<uint32_t>(out, 0x06054b50), Put<uint16_t>(out, 0), Put<uint16_t>(out, 0), Put<uint16_t>(out, 1),
      Put<uint16_t>(out, 1);
  Put<uint32_t>(out, directory_bytes), Put<uint32_t>(out, directory), Put<uint16_t>(out, 0);
  return out;
}

std::string Base64(const std::string& bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
    for (int k = 3; k >= 0; --k) out += kDigits[group >> (6 * k) & 63];
  }
  return out;
}

Result<std::string> Unpack(std::string bytes) {
  Result<Input> input = UnwrapBytes("test", std::move(bytes));
  if (!input) return tl::unexpected(input.error());
  return ReadAll(*input->bytes, 1 << 30);
}

TEST(Input, PlainBytesAreTheSame) { EXPECT_EQ(Unpack(kPickle).value(), kPickle); }

TEST(Input, EveryContainer) {
  EXPECT_EQ(Unpack(Gzip(kPickle)).value(), kPickle);
  EXPECT_EQ(Unpack(Zstd(kPickle)).value(), kPickle);
  EXPECT_EQ(Unpack(Zip("archive/data.pkl", kPickle, true)).value(), kPickle);
  EXPECT_EQ(Unpack(Zip("snapshot.pickle", kPickle, false)).value(), kPickle);
}

TEST(Input, ContainersInContainers) {
  EXPECT_EQ(Unpack(Gzip(Zip("a.pkl", Zstd(kPickle), true))).value(), kPickle);
  const Result<std::string> deep = Unpack(Gzip(Gzip(Gzip(Gzip(Gzip(kPickle))))));
  ASSERT_FALSE(deep.has_value());
  EXPECT_EQ(deep.error().code, ErrorCode::kLimitExceeded);
}

TEST(Input, SeveralGzipMembersAreOneStream) {
  EXPECT_EQ(Unpack(Gzip(kPickle) + Gzip("more")).value(), kPickle + "more");
}

TEST(Input, HtmlPageWithOtherBase64Before) {
  const std::string page =
      "<!DOCTYPE html><script>font('" + Base64(std::string(600, '\7')) + "'); show('" + Base64(kPickle) + "')</script>";
  const std::string unpacked = Unpack(page).value();
  EXPECT_EQ(unpacked.substr(0, kPickle.size()), kPickle);
  EXPECT_LT(unpacked.size() - kPickle.size(), 3u);  // padding
}

TEST(Input, HtmlPageWithoutSnapshot) {
  EXPECT_EQ(Unpack("<html>nothing here</html>").error().code, ErrorCode::kUnsupportedFormat);
}

TEST(Input, CutContainersSayThatTheyAreCut) {
  for (const std::string& packed : {Gzip(kPickle), Zstd(kPickle)}) {
    EXPECT_EQ(Unpack(packed.substr(0, packed.size() / 2)).error().code, ErrorCode::kTruncatedInput);
  }
  const std::string zip = Zip("a.pkl", kPickle, false);
  EXPECT_EQ(Unpack(zip.substr(0, zip.size() - 30)).error().code, ErrorCode::kTruncatedInput);
}

TEST(Input, DamagedContainers) {
  std::string packed = Gzip(kPickle);
  packed[packed.size() / 2] ^= 0x55;
  EXPECT_FALSE(Unpack(packed).has_value());
}

TEST(Input, EncryptedZipMember) {
  EXPECT_EQ(Unpack(Zip("a.pkl", kPickle, false, 1)).error().code, ErrorCode::kUnsupportedFormat);
}

TEST(Input, ABombIsStopped) {
  // 100 MiB of one byte, packed twice, is less than a kB.
  const Result<std::string> bomb = Unpack(Gzip(Gzip(std::string(100 << 20, 'N'))));
  ASSERT_FALSE(bomb.has_value());
  EXPECT_EQ(bomb.error().code, ErrorCode::kLimitExceeded);
}

TEST(Input, Empty) { EXPECT_EQ(UnwrapBytes("test", "").error().code, ErrorCode::kTruncatedInput); }

}  // namespace
}  // namespace memstrata
