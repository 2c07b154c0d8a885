#include "base/gzip.h"

#include <gtest/gtest.h>

namespace memstrata {
namespace {

std::string Repeated(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += "block " + std::to_string(i * 7919 % 1000) + "\n";
  return text;
}

TEST(Gzip, RoundTrip) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{1000}, size_t{300'000}}) {
    const std::string text = Repeated(count);
    const Result<std::string> back = GzipDecompress(GzipCompress(text, 6), text.size());
    ASSERT_TRUE(back.has_value()) << count;
    EXPECT_EQ(*back, text);
  }
}

TEST(Gzip, RefusesDamageAndTooMuch) {
  const std::string packed = GzipCompress(Repeated(1000), 9);
  EXPECT_EQ(GzipDecompress(packed, 100).error().code, ErrorCode::kLimitExceeded);
  EXPECT_EQ(GzipDecompress(packed.substr(0, packed.size() / 2), 1 << 20).error().code, ErrorCode::kCorruptInput);
  EXPECT_EQ(GzipDecompress("no gzip", 1 << 20).error().code, ErrorCode::kCorruptInput);
  EXPECT_EQ(GzipDecompress("", 1 << 20).error().code, ErrorCode::kCorruptInput);
}

}  // namespace
}  // namespace memstrata
