#include "dryrun/library_writer.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace memstrata::dryrun {
namespace {

// A written library, loaded by the system's own loader: the independent judge of whether it is one.
class Loaded {
 public:
  explicit Loaded(const LibrarySpec& spec) : path_(testing::TempDir() + "/" + spec.name) {
    std::ofstream(path_, std::ios::binary) << WriteLibrary(spec);
    handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  ~Loaded() {
    if (handle_ != nullptr) dlclose(handle_);
    std::filesystem::remove(path_);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  bool ok() const { return handle_ != nullptr; }
  template <class T>
  T Find(const char* name) const {
    return reinterpret_cast<T>(dlsym(handle_, name));
  }

 private:
  std::string path_;
  void* handle_ = nullptr;
};

TEST(LibraryWriter, AShellLoadsAndHasNothing) {
  const Loaded shell({"libmemstrata_test_shell.so.12", {}, {}});
  ASSERT_TRUE(shell.ok()) << dlerror();
  EXPECT_EQ(shell.Find<void*>("cudaMalloc"), nullptr);
}

TEST(LibraryWriter, AShellLeadsToWhatItNeeds) {
  const Loaded generic({"libmemstrata_test_needed.so", {}, {"cuNeeded"}});
  ASSERT_TRUE(generic.ok()) << dlerror();
  const Loaded shell({"libmemstrata_test_leads.so", {"libmemstrata_test_needed.so"}, {}});
  ASSERT_TRUE(shell.ok()) << dlerror();
  EXPECT_NE(shell.Find<void*>("cuNeeded"), nullptr);
}

TEST(LibraryWriter, EachFunctionSucceedsAndCountsItself) {
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back("cuFunction" + std::to_string(i));
  const Loaded library({"libmemstrata_test_generic.so", {}, names});
  ASSERT_TRUE(library.ok()) << dlerror();
  const auto* counts = library.Find<const uint64_t*>("memstrata_generic_counts");
  const auto* text = library.Find<const char*>("memstrata_generic_names");
  ASSERT_NE(counts, nullptr);
  ASSERT_NE(text, nullptr);
  for (int i = 0; i < 1000; ++i) {
    const auto function = library.Find<int (*)(int, void*)>(names[i].c_str());
    ASSERT_NE(function, nullptr) << names[i];
    for (int call = 0; call < i % 3; ++call) EXPECT_EQ(function(7, nullptr), 0);
  }
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(counts[i], static_cast<uint64_t>(i % 3)) << names[i];
    EXPECT_EQ(text, names[i]);
    text += std::strlen(text) + 1;
  }
  EXPECT_EQ(*text, '\0');
}

TEST(LibraryWriter, SameInputSameBytes) {
  const LibrarySpec spec = {"libx.so", {"liby.so"}, {"a", "b"}};
  EXPECT_EQ(WriteLibrary(spec), WriteLibrary(spec));
}

}  // namespace
}  // namespace memstrata::dryrun
