#include "plan/model/weights_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
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
  const auto half = [](const char* begin, const char* end) {
    return fmt::format(R"({{"dtype": "U8", "shape": [562949953421312], "data_offsets": [{}, {}]}})", begin, end);
  };
  const std::string first = half("0", "562949953421312");
  const std::string second = half("562949953421312", "1125899906842624");
  const std::string third = half("1125899906842624", "1688849860263936");
  const auto parse = [](const std::string& tensors) {
    const std::string file = Safetensors(tensors, 32);
    return ParseSafetensors(file, file.size());
  };
  const Result<WeightsHeader> most = parse(R"({"a": )" + first + R"(, "b": )" + second + "}");
  ASSERT_TRUE(most) << most.error().message;
  EXPECT_EQ(most->parameter_count, int64_t{1} << 50);
  EXPECT_FALSE(parse(R"({"a": )" + first + R"(, "b": )" + second + R"(, "c": )" + third + "}"));
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

std::string RefusalOf(const std::string& header) {
  const std::string file = Safetensors(header, 32);
  const Result<WeightsHeader> parsed = ParseSafetensors(file, file.size());
  return parsed ? "" : parsed.error().message;
}

TEST(Safetensors, EachByteIsOfOneTensor) {
  EXPECT_EQ(RefusalOf(R"({"b": {"dtype": "F32", "shape": [4], "data_offsets": [16, 32]},
                          "a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]},
                          "empty": {"dtype": "F32", "shape": [0], "data_offsets": [16, 16]}})"),
            "");
  EXPECT_EQ(RefusalOf(R"({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]},
                          "b": {"dtype": "F32", "shape": [4], "data_offsets": [12, 28]}})"),
            "\"a\" and \"b\" lie on the same bytes.");
  EXPECT_EQ(RefusalOf(R"({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]},
                          "b": {"dtype": "F32", "shape": [3], "data_offsets": [20, 32]}})"),
            "4 bytes before \"b\" belong to no tensor.");
}

class Shards : public testing::Test {
 protected:
  Shards() : folder_(testing::TempDir() + "shards_" + testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::create_directories(folder_);
  }
  ~Shards() override { std::filesystem::remove_all(folder_); }

  // One tensor of four float32 elements.
  void WriteShard(const std::string& file, const std::string& tensor) const {
    Write(file, Safetensors(
                    fmt::format(R"({{"{}": {{"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}}})", tensor), 16));
  }
  void Write(const std::string& file, const std::string& bytes) const {
    std::ofstream(folder_ + "/" + file, std::ios::binary) << bytes;
  }
  Result<ModelDescription> Describe(const std::string& file) const { return DescribeWeightsFile(folder_ + "/" + file); }

 private:
  std::string folder_;
};

TEST_F(Shards, OneOfThemStandsForAll) {
  WriteShard("m-00001-of-00002.safetensors", "a");
  const Result<ModelDescription> alone = Describe("m-00001-of-00002.safetensors");
  ASSERT_FALSE(alone);
  EXPECT_NE(alone.error().message.find("m-00002-of-00002.safetensors, one of 2 shards"), std::string::npos)
      << alone.error().message;
  WriteShard("m-00002-of-00002.safetensors", "b");
  EXPECT_EQ(Describe("m-00002-of-00002.safetensors")->stored_weight_bytes, 32u);
  WriteShard("m-00002-of-00002.safetensors", "a");
  EXPECT_FALSE(Describe("m-00001-of-00002.safetensors"));  // one name twice
}

TEST_F(Shards, TheIndexDecidesWhichTensorsThereAre) {
  WriteShard("one.safetensors", "a");
  Write("two.safetensors", Safetensors(R"({"b": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                        "unlisted": {"dtype": "F32", "shape": [2], "data_offsets": [8, 16]}})",
                                       16));
  const auto index = [&](const std::string& metadata, const std::string& more) {
    Write("m.safetensors.index.json",
          fmt::format(R"({{{}"weight_map": {{"a": "one.safetensors", "b": "two.safetensors"{}}}}})", metadata, more));
    return Describe("m.safetensors.index.json");
  };
  const Result<ModelDescription> model = index(R"("metadata": {"total_size": 24}, )", "");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->stored_weight_bytes, 24u);
  EXPECT_EQ(model->parameter_count, 6);
  EXPECT_EQ(model->notes, std::vector<std::string>{"1 tensor(s) that the index does not list are left out."});
  EXPECT_NE(index(R"("metadata": {"total_size": 64}, )", "")->notes.back().find("total_size 64 B"), std::string::npos);
  const Result<ModelDescription> missing = index("", R"(, "c": "two.safetensors")");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "The index lists \"c\" in two.safetensors, which does not have it.");
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
