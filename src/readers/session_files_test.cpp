// Which files of a folder are read.

#include "readers/session_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "readers/test_folder.h"

namespace memstrata {
namespace {

namespace fs = std::filesystem;

class SessionFolder : public testing::Test {
 protected:
  void Touch(const std::string& name) const {
    fs::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << "x";
  }

  std::vector<std::string> Expanded() const {
    const Result<SessionFiles> session = ExpandFolders({folder_.path().string()});
    if (!session) return {session.error().message};
    std::vector<std::string> names;
    for (const std::string& file : session->files)
      names.push_back(fs::path(file).lexically_relative(folder_.path()).string());
    return names;
  }

  TestFolder folder_;
};

TEST_F(SessionFolder, EveryRankInNumericOrder) {
  for (const char* name : {"session.json", "torch/rank10.pickle", "torch/rank2.pickle", "torch/rank0.pickle"})
    Touch(name);
  EXPECT_EQ(Expanded(), (std::vector<std::string>{"torch/rank0.pickle", "torch/rank2.pickle", "torch/rank10.pickle"}));
}

TEST_F(SessionFolder, HalfWrittenFilesDumpsAndMarksAreLeftOut) {
  for (const char* name : {"session.json", "torch/rank0.pickle", "torch/.rank1.pickle.x.part", "torch/.rank2.pickle",
                           "dumps/rank0_oom001.pickle", "marks/rank0.jsonl", "jax/rank0_step00000001.prof"})
    Touch(name);
  EXPECT_EQ(Expanded(), std::vector<std::string>{"torch/rank0.pickle"});
}

TEST_F(SessionFolder, LastProfileOfEachRankAndTheBuffersOfTheEnd) {
  for (const char* name : {"session.json", "xplane/rank0/plugins/profile/2026_01/h.xplane.pb",
                           "xplane/rank0/plugins/profile/2026_02/h.xplane.pb",
                           "xplane/rank1/plugins/profile/2026_01/h.xplane.pb", "jax/rank0_end.prof"})
    Touch(name);
  EXPECT_EQ(Expanded(),
            (std::vector<std::string>{"xplane/rank0/plugins/profile/2026_02/h.xplane.pb",
                                      "xplane/rank1/plugins/profile/2026_01/h.xplane.pb", "jax/rank0_end.prof"}));
}

TEST_F(SessionFolder, AnUnfinishedSessionSaysSo) {
  Touch("session.json");
  Touch("marks/rank0.jsonl");
  ASSERT_EQ(Expanded().size(), 1u);
  EXPECT_NE(Expanded()[0].find("ended before it was"), std::string::npos);
}

TEST_F(SessionFolder, WithoutAnIndexItIsALogDirectory) {
  Touch("torch/rank0.pickle");
  Touch("plugins/profile/2026_01/h.xplane.pb");
  EXPECT_EQ(Expanded(), std::vector<std::string>{"plugins/profile/2026_01/h.xplane.pb"});
}

}  // namespace
}  // namespace memstrata
