// Denoisers against diffusers' own: the table was made by bench/diffusion_counts.py.

#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <fstream>
#include <set>

#include "plan/model/model_description.h"

namespace memstrata::plan {
namespace {

constexpr double kSavedTolerance = 0.03;
constexpr double kBytesEach = 2;  // bf16

std::string TextOf(const rapidjson::Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return buffer.GetString();
}

std::vector<rapidjson::Document> Table() {
  std::vector<rapidjson::Document> rows;
  std::ifstream file(std::string(MEMSTRATA_SOURCE_DIR) + "/tests/oracle/diffusion_counts.jsonl");
  for (std::string line; std::getline(file, line);) rows.emplace_back().Parse(line.c_str());
  return rows;
}

// What one more block of a kind keeps: `key` counts the blocks of that kind.
double SavedByOneMore(const rapidjson::Document& row, const char* key) {
  rapidjson::Document more;
  more.CopyFrom(row["config"], more.GetAllocator());
  const auto saved = [&] {
    const Result<ModelDescription> model = DescribeConfig(TextOf(more), "table");
    return kBytesEach * model->diffusion->saved.Of(row["image_tokens"].GetInt64(), row["text_tokens"].GetInt64());
  };
  const double before = saved();
  more[key].SetInt(more[key].GetInt() + 1);
  return saved() - before;
}

TEST(DiffusionCounts, EveryClassHasDiffusersParameters) {
  std::set<std::string> classes;
  for (const rapidjson::Document& row : Table()) {
    const std::string config = TextOf(row["config"]);
    const Result<ModelDescription> model = DescribeConfig(config, "table");
    ASSERT_TRUE(model) << config << ": " << model.error().message;
    EXPECT_EQ(model->parameter_count, row["parameters"].GetInt64()) << config;
    classes.insert(row["config"]["_class_name"].GetString());
  }
  EXPECT_GE(classes.size(), 12u);
}

TEST(DiffusionCounts, BlocksKeepWhatDiffusersKeeps) {
  int64_t compared = 0;
  for (const rapidjson::Document& row : Table()) {
    if (!row.HasMember("saved_bytes")) continue;
    const auto saved = row["saved_bytes"].GetArray();
    for (rapidjson::SizeType i = 0; i < saved.Size(); ++i) {
      const double measured = saved[i].GetDouble();
      const double planned = SavedByOneMore(row, i == 0 ? "num_layers" : "num_single_layers");
      EXPECT_NEAR(planned / measured, 1, kSavedTolerance) << TextOf(row["config"]);
      ++compared;
    }
  }
  EXPECT_GE(compared, 10);
}

}  // namespace
}  // namespace memstrata::plan
