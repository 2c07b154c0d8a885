#include "io/source/scratch_bytes.h"

#include <gtest/gtest.h>

#include <random>

namespace memstrata {
namespace {

constexpr size_t kStep = ScratchBytes::kStepBytes;

std::string Pattern(size_t size_bytes) {
  std::string bytes(size_bytes, '\0');
  uint32_t state = 1;
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

// A file of which only the first bytes can still be read.
class CutFile final : public RandomAccess {
 public:
  CutFile(std::string bytes, uint64_t left_bytes) : bytes_(std::move(bytes)), left_bytes_(left_bytes) {}
  uint64_t size_bytes() const override { return bytes_.size(); }
  Status ReadAt(uint64_t offset, std::span<std::byte> into) const override {
    if (offset + into.size() > left_bytes_) return Fail(ErrorCode::kTruncatedInput, "cut", offset);
    std::copy_n(bytes_.data() + offset, into.size(), reinterpret_cast<char*>(into.data()));
    return {};
  }

 private:
  std::string bytes_;
  uint64_t left_bytes_;
};

TEST(ScratchBytesTest, PartsOfAPlainFileComeAndGoInAnyOrder) {
  const std::string expected = Pattern(37 * kStep + 12345);
  Result<Input> input = UnwrapBytes("test", expected);
  ASSERT_TRUE(input);
  Result<ScratchBytes> bytes = ScratchBytes::Open(*input, expected.size());
  ASSERT_TRUE(bytes);
  ASSERT_EQ(bytes->view().size(), expected.size());
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const size_t begin = random() % expected.size();
    const size_t size = random() % std::min(expected.size() - begin, 3 * kStep);
    const std::string_view part = bytes->view().substr(begin, size);
    if (random() % 3 == 0) {
      const std::string_view left = bytes->Release(part);
      EXPECT_EQ(left.data() + left.size(), part.data() + part.size());
      continue;
    }
    const char* const end = bytes->Load(part);
    ASSERT_GE(end, part.data() + part.size());
    ASSERT_EQ(std::string_view(part.data(), static_cast<size_t>(end - part.data())),
              std::string_view(expected).substr(begin, static_cast<size_t>(end - part.data())));
  }
  EXPECT_FALSE(bytes->has_shrunk());
}

TEST(ScratchBytesTest, NothingIsReadBeforeItIsAskedFor) {
  Input input;
  input.archives.push_back(std::make_unique<CutFile>(Pattern(4 * kStep), kStep));
  input.plain_file = input.archives.back().get();
  Result<ScratchBytes> bytes = ScratchBytes::Open(input, 1 << 30);
  ASSERT_TRUE(bytes);
  const std::string_view first = bytes->view().substr(0, 10);
  bytes->Load(first);
  EXPECT_EQ(first, Pattern(10));
  EXPECT_FALSE(bytes->has_shrunk());
}

TEST(ScratchBytesTest, WhatWasCutOffMeanwhileReadsAsZeros) {
  Input input;
  input.archives.push_back(std::make_unique<CutFile>(Pattern(4 * kStep), kStep));
  input.plain_file = input.archives.back().get();
  Result<ScratchBytes> bytes = ScratchBytes::Open(input, 1 << 30);
  ASSERT_TRUE(bytes);
  bytes->Load(bytes->view());
  EXPECT_TRUE(bytes->has_shrunk());
  EXPECT_EQ(bytes->view().substr(0, kStep), Pattern(kStep));
  EXPECT_EQ(bytes->view().substr(kStep), std::string(3 * kStep, '\0'));
}

TEST(ScratchBytesTest, LargerThanTheLimit) {
  const std::string bytes = Pattern(1000);
  Result<Input> plain = UnwrapBytes("test", bytes);
  ASSERT_TRUE(plain);
  EXPECT_EQ(ScratchBytes::Open(*plain, 999).error().code, ErrorCode::kLimitExceeded);
  plain->plain_file = nullptr;  // as if it had been packed
  EXPECT_EQ(ScratchBytes::Open(*plain, 999).error().code, ErrorCode::kLimitExceeded);
}

}  // namespace
}  // namespace memstrata
