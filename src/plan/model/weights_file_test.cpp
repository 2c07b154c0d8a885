#include "plan/model/weights_file.h"

#include <gtest/gtest.h>

#include <cstring>

namespace memstrata::plan {
namespace {

std::string Safetensors(const std::string& header, size_t data_bytes) {
  std::string file(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(file.data(), &length, 8);
  return file + header + std::string(data_bytes, '\0');
}

template <class T>
void Append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string Gguf(uint32_t tensor_type, uint64_t elements) {
  std::string file;
  Append(file, uint32_t{0x46554747});
  Append(file, uint32_t{3});
  Append(file, uint64_t{1});
  Append(file, uint64_t{1});
  Append(file, uint64_t{1});
  file += "k";
  Append(file, uint32_t{4});
  Append(file, uint32_t{7});
  Append(file, uint64_t{1});
  file += "t";
  Append(file, uint32_t{1});
  Append(file, elements);
  Append(file, tensor_type);
  Append(file, uint64_t{0});
  return file;
}

TEST(Safetensors, SumsTensorsByTheirOwnTypes) {
  const std::string file = Safetensors(
      R"({"__metadata__": {"a": "b"}, "x": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "y": {"dtype": "BF16", "shape": [4], "data_offsets": [24, 32]}})",
      32);
  const Result<WeightsHeader> header = ParseSafetensors(file, file.size());
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->total_bytes, 32u);
  EXPECT_EQ(header->parameter_count, 10);
}

TEST(Safetensors, RefusesWhatDoesNotAddUp) {
  EXPECT_FALSE(ParseSafetensors("short", 5));
  EXPECT_FALSE(ParseSafetensors(std::string(8, '\xff'), 8));
  const auto refuse = [](const std::string& header) {
    const std::string file = Safetensors(header, 32);
    return !ParseSafetensors(file, file.size()).has_value();
  };
  EXPECT_TRUE(refuse("[]"));
  EXPECT_TRUE(refuse(R"({"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 9]}})"));
  EXPECT_TRUE(refuse(R"({"x": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}})"));
  EXPECT_TRUE(refuse(R"({"x": {"dtype": "F32", "shape": [9], "data_offsets": [0, 36]}})"));
  EXPECT_TRUE(refuse(R"({"x": {"dtype": "WAT", "shape": [2], "data_offsets": [0, 8]}})"));
  EXPECT_TRUE(refuse(R"({"x": {"dtype": "F32", "shape": [9223372036854775807, 9], "data_offsets": [0, 8]}})"));
}

TEST(Gguf, UsesTheBlockSizeOfTheType) {
  EXPECT_EQ(ParseGguf(Gguf(12, 256), 10000)->total_bytes, 144u);  // Q4_K
  EXPECT_EQ(ParseGguf(Gguf(14, 512), 10000)->total_bytes, 420u);  // Q6_K
  EXPECT_EQ(ParseGguf(Gguf(39, 64), 10000)->total_bytes, 34u);    // MXFP4
}

TEST(Gguf, RefusesEveryTruncationAndUnknownTypes) {
  const std::string file = Gguf(12, 256);
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_FALSE(ParseGguf(file.substr(0, length), 10000)) << length;
  EXPECT_FALSE(ParseGguf(Gguf(99, 256), 10000));
  EXPECT_FALSE(ParseGguf(Gguf(12, 256), 10));  // the tensors do not go into such a file
  EXPECT_FALSE(ParseGguf(Gguf(12, UINT64_MAX), UINT64_MAX));
}

}  // namespace
}  // namespace memstrata::plan
