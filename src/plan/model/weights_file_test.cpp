#include "plan/model/weights_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "plan/kv_cache.h"

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

TEST(Safetensors, TensorsThatOverflowTogetherAreRefused) {
  constexpr uint64_t kHalf = uint64_t{1} << 49;
  const auto half = [](uint64_t begin) {
    return R"({"dtype": "U8", "shape": [562949953421312], "data_offsets": [)" + std::to_string(begin) + ", " +
           std::to_string(begin + kHalf) + "]}";
  };
  const auto parse = [](const std::string& tensors) {
    const std::string file = Safetensors(tensors, 32);
    return ParseSafetensors(file, file.size());
  };
  const Result<WeightsHeader> most = parse(R"({"a": )" + half(0) + R"(, "b": )" + half(kHalf) + "}");
  ASSERT_TRUE(most) << most.error().message;
  EXPECT_EQ(most->parameter_count, int64_t{1} << 50);
  EXPECT_FALSE(parse(R"({"a": )" + half(0) + R"(, "b": )" + half(kHalf) + R"(, "c": )" + half(2 * kHalf) + "}"));
}

TEST(Safetensors, OneShardStandsForAll) {
  const std::string folder = testing::TempDir();
  for (const char* number : {"1", "2"}) {
    const std::string path = folder + "model-0000" + number + "-of-00002.safetensors";
    const std::string bytes = Safetensors(
        R"({"x)" + std::string(number) + R"(": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}})", 16);
    std::FILE* file = std::fopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
  }
  const Result<ModelDescription> model = DescribeWeightsFile(folder + "model-00002-of-00002.safetensors");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->parameter_count, 8);
  std::remove((folder + "model-00001-of-00002.safetensors").c_str());
  EXPECT_FALSE(DescribeWeightsFile(folder + "model-00002-of-00002.safetensors"));
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
  EXPECT_TRUE(refuse(
      R"({"x": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]}, "y": {"dtype": "U8", "shape": [8], "data_offsets": [4, 12]}})"));
  const std::string cut = Safetensors(R"({"x": {"dtype": "F32", "shape": [9], "data_offsets": [0, 36]}})", 32);
  EXPECT_TRUE(ParseSafetensors(cut, cut.size())->is_cut);
  EXPECT_TRUE(refuse(R"({"x": {"dtype": "WAT", "shape": [2], "data_offsets": [0, 8]}})"));
  EXPECT_TRUE(refuse(R"({"x": {"dtype": "F32", "shape": [9223372036854775807, 9], "data_offsets": [0, 8]}})"));
}

TEST(Gguf, UsesTheBlockSizeOfTheType) {
  EXPECT_EQ(ParseGguf(Gguf(12, 256), 10000)->total_bytes, 144u);  // Q4_K
  EXPECT_EQ(ParseGguf(Gguf(14, 512), 10000)->total_bytes, 420u);  // Q6_K
  EXPECT_EQ(ParseGguf(Gguf(39, 64), 10000)->total_bytes, 34u);    // MXFP4
}

void AppendText(std::string& bytes, const std::string& text) {
  Append(bytes, static_cast<uint64_t>(text.size()));
  bytes += text;
}

// A header without tensors, of an architecture "a".
std::string Described(const std::map<std::string, uint32_t>& numbers, const std::vector<uint32_t>& kv_heads = {}) {
  std::string file;
  Append(file, uint32_t{0x46554747});
  Append(file, uint32_t{3});
  Append(file, uint64_t{0});
  Append(file, static_cast<uint64_t>(numbers.size() + 1 + (kv_heads.empty() ? 0 : 1)));
  AppendText(file, "general.architecture");
  Append(file, uint32_t{8});
  AppendText(file, "a");
  for (const auto& [key, value] : numbers) {
    AppendText(file, "a." + key);
    Append(file, uint32_t{4});
    Append(file, value);
  }
  if (kv_heads.empty()) return file;
  AppendText(file, "a.attention.head_count_kv");
  Append(file, uint32_t{9});
  Append(file, uint32_t{4});
  Append(file, static_cast<uint64_t>(kv_heads.size()));
  for (const uint32_t heads : kv_heads) Append(file, heads);
  return file;
}

ModelDescription ModelOf(const std::string& file) {
  const Result<WeightsHeader> header = ParseGguf(file, file.size());
  EXPECT_TRUE(header);
  ModelDescription model;
  EXPECT_TRUE(UseGgufMetadata(header->metadata, model));
  return model;
}

TEST(Gguf, TheMetadataTellLayersAndHeads) {
  const ModelDescription model = ModelOf(Described({{"block_count", 32},
                                                    {"embedding_length", 4096},
                                                    {"attention.head_count", 32},
                                                    {"attention.head_count_kv", 8},
                                                    {"context_length", 8192},
                                                    {"vocab_size", 128256}}));
  EXPECT_EQ(model.layer_count, 32);
  EXPECT_EQ(model.hidden, 4096);
  EXPECT_EQ(model.vocabulary, 128256);
  EXPECT_EQ(model.max_positions, 8192);
  EXPECT_EQ(CacheBytesPerToken(model, CacheLayout{}), 131072u);
}

TEST(Gguf, HeadsCanBeListedForEachLayer) {
  const ModelDescription model = ModelOf(Described({{"block_count", 3},
                                                    {"embedding_length", 256},
                                                    {"attention.head_count", 4},
                                                    {"attention.sliding_window", 64},
                                                    {"attention.sliding_window_pattern", 3},
                                                    {"ssm.inner_size", 512},
                                                    {"ssm.state_size", 16},
                                                    {"ssm.conv_kernel", 4}},
                                                   {2, 0, 4}));
  ASSERT_EQ(model.cache.size(), 3u);
  EXPECT_EQ(model.cache[0].kind, CacheLayer::Kind::kSliding);
  EXPECT_EQ(model.cache[0].kv_heads, 2);
  EXPECT_EQ(model.cache[1].kind, CacheLayer::Kind::kState);
  EXPECT_EQ(model.cache[1].state_elements, 3 * 512 + 512 * 16);
  EXPECT_EQ(model.cache[2].kind, CacheLayer::Kind::kFull);
  EXPECT_EQ(model.cache[2].kv_heads, 4);
}

TEST(Gguf, MetadataThatNoModelHasAreRefused) {
  for (const char* key : {"block_count", "embedding_length", "attention.head_count"}) {
    std::map<std::string, uint32_t> numbers = {
        {"block_count", 2}, {"embedding_length", 64}, {"attention.head_count", 2}};
    numbers[key] = UINT32_MAX;
    const std::string file = Described(numbers);
    const Result<WeightsHeader> header = ParseGguf(file, file.size());
    ASSERT_TRUE(header);
    ModelDescription model;
    EXPECT_FALSE(UseGgufMetadata(header->metadata, model)) << key;
  }
}

TEST(Gguf, AHeaderWithoutItsTensorsIsEnough) {
  const Result<WeightsHeader> header = ParseGguf(Gguf(12, 256), 10);
  ASSERT_TRUE(header);
  EXPECT_TRUE(header->is_cut);
  EXPECT_EQ(header->total_bytes, 144u);
}

TEST(Gguf, RefusesEveryTruncationAndUnknownTypes) {
  const std::string file = Gguf(12, 256);
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_FALSE(ParseGguf(file.substr(0, length), 10000)) << length;
  EXPECT_FALSE(ParseGguf(Gguf(99, 256), 10000));
  EXPECT_FALSE(ParseGguf(Gguf(12, UINT64_MAX), UINT64_MAX));
}

}  // namespace
}  // namespace memstrata::plan
