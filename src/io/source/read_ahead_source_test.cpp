#include "io/source/read_ahead_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>

namespace memstrata {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// Bytes that tell their position, in pieces of any size; then the end or an error.
class CountedSource final : public ByteSource {
 public:
  CountedSource(uint64_t size_bytes, bool fails, std::atomic<uint64_t>* given_bytes)
      : size_bytes_(size_bytes), fails_(fails), given_bytes_(given_bytes) {}

  static std::byte At(uint64_t offset) { return static_cast<std::byte>((offset * 2654435761U) >> 24); }

  Result<size_t> Read(std::span<std::byte> into) override {
    const uint64_t begin = given_bytes_->load();
    if (begin == size_bytes_ && fails_) return Fail(ErrorCode::kIo, "The disk is gone.");
    const uint64_t wanted = 1 + random_() % into.size();
    const uint64_t count = std::min(wanted, size_bytes_ - begin);
    for (uint64_t i = 0; i < count; ++i) into[i] = At(begin + i);
    given_bytes_->store(begin + count);
    return static_cast<size_t>(count);
  }

 private:
  const uint64_t size_bytes_;
  const bool fails_;
  std::atomic<uint64_t>* given_bytes_;
  std::mt19937 random_{7};
};

TEST(ReadAheadSource, GivesTheSameBytesAndThenTheEnd) {
  for (const uint64_t size_bytes : {uint64_t{0}, uint64_t{1}, kMiB - 1, kMiB, kMiB + 1, 9 * kMiB + 12345}) {
    std::atomic<uint64_t> given = 0;
    ReadAheadSource source(std::make_unique<CountedSource>(size_bytes, false, &given));
    std::mt19937 random(3);
    std::vector<std::byte> piece(700'000);
    uint64_t offset = 0;
    for (;;) {
      const Result<size_t> got = source.Read(std::span(piece).first(1 + random() % piece.size()));
      ASSERT_TRUE(got);
      if (*got == 0) break;
      for (size_t i = 0; i < *got; ++i) ASSERT_EQ(piece[i], CountedSource::At(offset + i)) << offset + i;
      offset += *got;
    }
    EXPECT_EQ(offset, size_bytes);
    EXPECT_EQ(source.Read(piece).value(), 0U) << "the end stays the end";
  }
}

TEST(ReadAheadSource, AnErrorComesAfterTheBytesBeforeIt) {
  for (const uint64_t size_bytes : {uint64_t{10}, 5 * kMiB}) {
    std::atomic<uint64_t> given = 0;
    ReadAheadSource source(std::make_unique<CountedSource>(size_bytes, true, &given));
    std::vector<std::byte> piece(300'000);
    uint64_t offset = 0;
    Result<size_t> got = 0;
    while ((got = source.Read(piece))) offset += *got;
    EXPECT_EQ(offset, size_bytes);
    EXPECT_EQ(got.error().message, "The disk is gone.");
    EXPECT_FALSE(source.Read(piece)) << "and again";
  }
}

TEST(ReadAheadSource, ReadsAheadALittleOnly) {
  std::atomic<uint64_t> given = 0;
  {
    ReadAheadSource source(std::make_unique<CountedSource>(100 * kMiB, false, &given));
    std::vector<std::byte> piece(64 << 10);
    uint64_t taken = 0;
    while (taken < 2 * kMiB) taken += source.Read(piece).value();
    EXPECT_LE(given.load(), taken + 2 * kMiB);
  }  // what is under way ends with it
  EXPECT_LE(given.load(), 5 * kMiB);
}

}  // namespace
}  // namespace memstrata
