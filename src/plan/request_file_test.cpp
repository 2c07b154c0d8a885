#include "plan/request_file.h"

#include <gtest/gtest.h>

#include "plan/report/plan_report.h"
#include "plan/yaml_table.h"

namespace memstrata::plan {
namespace {

constexpr std::string_view kToml = R"(
model = "layers=2 hidden=64 heads=4 vocab=1000"
card = ["24GiB", "l4"]
batch = 2
use-cache = false
memory-fraction = 0.8
lora-rank = 4
lora-targets = ["q_proj", "v_proj"]
asset = ["scene=3GiB"]
[parallel]
tp = 2
sp = true
)";

constexpr std::string_view kYaml = R"(# the same
model: "layers=2 hidden=64 heads=4 vocab=1000"
card: [24GiB, l4]
batch: 2
use-cache: false
memory-fraction: 0.8
lora-rank: 4
lora-targets:
  - q_proj
  - 'v_proj'
asset: [scene=3GiB]
parallel:
  tp: 2
  sp: true
)";

TEST(RequestFile, YamlAndTomlSayTheSame) {
  const Result<RequestTexts> toml = ParseRequest(*ParseToml(kToml));
  const Result<RequestTexts> yaml = ParseRequest(*ParseYaml(kYaml));
  ASSERT_TRUE(toml && yaml);
  EXPECT_EQ(toml->inputs, yaml->inputs);
  EXPECT_EQ(toml->model, yaml->model);
  EXPECT_EQ(yaml->cards, (std::vector<std::string>{"24GiB", "l4"}));
  const Result<PlanRequest> request = MakeRequest(*yaml, FileUse::kNever);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->workload.lora_targets, (std::vector<std::string>{"q_proj", "v_proj"}));
  EXPECT_EQ(request->workload.parallel.tensor, 2);
  EXPECT_TRUE(request->workload.parallel.sequence_parallel);
  EXPECT_EQ(request->workload.assets[0].bytes, uint64_t{3} << 30);
}

TEST(RequestFile, ARequestWithoutFilesOpensNone) {
  const std::string path = MEMSTRATA_SOURCE_DIR "/README.md";
  EXPECT_NE(DescribeAny(path).error().code, ErrorCode::kInvalidArgument);  // it was read, and is no model
  const Result<PlanRequest> request = MakeRequest({.model = path}, FileUse::kNever);
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().code, ErrorCode::kInvalidArgument);
}

struct BadYaml {
  const char* text;
  const char* said;

  friend void PrintTo(const BadYaml& yaml, std::ostream* out) { *out << yaml.said; }
};

class BadYamlTest : public testing::TestWithParam<BadYaml> {};

TEST_P(BadYamlTest, IsRefusedWithASentence) {
  const Result<TomlTable> table = ParseYaml(GetParam().text);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code, ErrorCode::kCorruptInput);
  EXPECT_NE(table.error().message.find(GetParam().said), std::string::npos) << table.error().message;
}

INSTANTIATE_TEST_SUITE_P(Kinds, BadYamlTest,
                         testing::Values(BadYaml{"- 1\n- 2\n", "not a mapping"}, BadYaml{"a: &x 1\nb: *x\n", "anchors"},
                                         BadYaml{"a: !!python/object:os.system x\n", "tags"},
                                         BadYaml{"a: 1\na: 2\n", "there twice"},
                                         BadYaml{"a: 1\n---\nb: 2\n", "more than one document"},
                                         BadYaml{"a: [[1]]\n", "another list"}, BadYaml{"? [a]\n: 1\n", "a name"},
                                         BadYaml{"a: {b: {c: {d: {e: {f: {g: {h: {i: 1}}}}}}}}\n", "too deeply"},
                                         BadYaml{"a: \"x\n", "line"}, BadYaml{"\x01", "line"}));

TEST(RequestFile, WhatARequestCannotHoldIsNamed) {
  for (const char* text : {"batch: [1, 2]", "nested: {batch: 1}", "card: [{a: 1}]"}) {
    const Result<RequestTexts> request = ParseRequest(*ParseYaml(text));
    ASSERT_FALSE(request) << text;
    EXPECT_EQ(request.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_FALSE(ParseYaml(std::string((size_t{1} << 20) + 1, ' ')));
}

}  // namespace
}  // namespace memstrata::plan
