// Counts of parameters and of cached elements against transformers' own, for every family: the table was made by
// bench/model_counts.py.

#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "plan/constants.h"
#include "plan/model/model_description.h"

namespace memstrata::plan {
namespace {

constexpr int64_t kTokens = 64;  // of the sequence whose cache was counted

struct CountedModel {
  std::string config;
  std::string as_unknown;  // the same under a type that nobody has
  std::string type;
  int64_t parameters = 0;
  std::optional<int64_t> kv_elements;
};

std::string TextOf(const rapidjson::Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return buffer.GetString();
}

std::vector<CountedModel> Table() {
  std::vector<CountedModel> rows;
  std::ifstream file(std::string(MEMSTRATA_SOURCE_DIR) + "/tests/oracle/model_counts.jsonl");
  for (std::string line; std::getline(file, line);) {
    rapidjson::Document json;
    json.Parse(line.c_str());
    CountedModel row;
    row.config = TextOf(json["config"]);
    row.type = json["config"]["model_type"].GetString();
    row.parameters = json["parameters"].GetInt64();
    if (json.HasMember("kv_elements")) row.kv_elements = json["kv_elements"].GetInt64();
    json["config"]["model_type"].SetString("unheard");
    row.as_unknown = TextOf(json["config"]);
    rows.push_back(std::move(row));
  }
  return rows;
}

// transformers keeps one token less than the window between two steps.
int64_t KeptByTransformers(const ModelDescription& model) {
  int64_t elements = 0;
  for (const CacheLayer& layer : model.cache) {
    if (layer.kind == CacheLayer::Kind::kLatent) elements += kTokens * (layer.key_dim + layer.value_dim);
    if (layer.kind != CacheLayer::Kind::kFull && layer.kind != CacheLayer::Kind::kSliding) continue;
    const bool slides = layer.kind == CacheLayer::Kind::kSliding;
    const int64_t tokens = slides ? std::min(kTokens, layer.window - 1) : kTokens;
    elements += tokens * layer.kv_heads * (layer.key_dim + layer.value_dim);
  }
  return elements;
}

TEST(ModelCounts, EveryFamilyHasTransformersParameters) {
  std::set<std::string> types;
  for (const CountedModel& row : Table()) {
    const Result<ModelDescription> model = DescribeConfig(row.config, "table");
    ASSERT_TRUE(model) << row.config << ": " << model.error().message;
    EXPECT_EQ(model->parameter_count, row.parameters) << row.config;
    EXPECT_EQ(model->assumed_structure, "") << row.config;
    types.insert(row.type);
  }
  EXPECT_GE(types.size(), 90u);
}

TEST(ModelCounts, CachesHoldWhatTransformersKeeps) {
  int64_t compared = 0;
  for (const CountedModel& row : Table()) {
    if (!row.kv_elements) continue;
    const Result<ModelDescription> model = DescribeConfig(row.config, "table");
    ASSERT_TRUE(model) << row.config << ": " << model.error().message;
    EXPECT_EQ(KeptByTransformers(*model), *row.kv_elements) << row.config;
    ++compared;
  }
  EXPECT_GE(compared, 60);
}

TEST(ModelCounts, TheBoundsOfAnAssumedStructureHoldWhatItIs) {
  const Constant& bounds = GetConstant("assumed_structure");
  int64_t guessed = 0;
  for (const CountedModel& row : Table()) {
    const Result<ModelDescription> guess = DescribeConfig(row.as_unknown, "table");
    if (!guess) continue;  // without the keys of a decoder there is no guess
    EXPECT_NE(guess->assumed_structure, "") << row.as_unknown;
    const double ratio = static_cast<double>(row.parameters) / static_cast<double>(guess->parameter_count);
    EXPECT_GE(ratio, bounds.low) << row.config;
    EXPECT_LE(ratio, bounds.high) << row.config;
    ++guessed;
  }
  EXPECT_GE(guessed, 60);
}

}  // namespace
}  // namespace memstrata::plan
