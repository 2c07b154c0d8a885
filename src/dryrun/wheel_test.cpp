#include "dryrun/wheel.h"

#include <gtest/gtest.h>

#include <set>

#include "dryrun/stage.h"
#include "dryrun/vendor.h"

namespace memstrata::dryrun {
namespace {

TEST(Wheel, VersionsBecomeTheNumbersOfTheLibraries) {
  EXPECT_EQ(VersionNumber("12.6", 1000, 10), 12060);
  EXPECT_EQ(VersionNumber("9.5.1.17", 10000, 100), 90501);
  EXPECT_EQ(VersionNumber("2.26.2", 10000, 100), 22602);
  EXPECT_EQ(VersionNumber("", 1000, 10), 0);
}

TEST(Wheel, ArchitecturesAreReadFromTheListOfTheBuild) {
  EXPECT_EQ(ParseArchitectures("sm_75 sm_90a compute_120"), (std::vector<int32_t>{75, 90, 120}));
  EXPECT_TRUE(ParseArchitectures("").empty());
}

TEST(Wheel, KernelsRunOnTheirMajorVersionOnly) {
  Wheel wheel;
  wheel.architectures = {75, 80, 90};
  plan::Card card;
  const auto is_served = [&](double capability) {
    card.compute_capability = capability;
    return CheckKernels(wheel, card).has_value();
  };
  EXPECT_TRUE(is_served(7.5));
  EXPECT_TRUE(is_served(8.9));
  EXPECT_FALSE(is_served(7.0));
  EXPECT_FALSE(is_served(10.0));
  wheel.portable_architecture = 90;
  EXPECT_TRUE(is_served(10.0));
  EXPECT_FALSE(is_served(7.0));
  wheel.architectures.clear();  // the package does not say
  EXPECT_TRUE(is_served(7.0));
}

TEST(Wheel, ProbeLinesAreKeysAndValues) {
  const auto values = ParseProbe("torch\t2.7.1\nno tab\ncuda\t12.6");
  EXPECT_EQ(values.size(), 2u);
  EXPECT_EQ(values.at("cuda"), "12.6");
}

TEST(Vendor, NamesOfLibrariesAndFunctions) {
  for (const char* name : {"libcudart.so.13", "libcudnn_ops.so.9", "libcuda.so.1", "libnccl.so.2"})
    EXPECT_TRUE(IsVendorLibrary(name)) << name;
  for (const char* name : {"libtorch_cuda.so", "libc10_cuda.so", "libcurl.so.4"})
    EXPECT_FALSE(IsVendorLibrary(name)) << name;
  for (const char* name : {"cuMemCreate", "cudaMalloc", "__cudaRegisterVar", "ncclSend", "_ZN7nvshmem1xE"})
    EXPECT_TRUE(IsVendorFunction(name)) << name;
  for (const char* name : {"curl_easy_init", "cuckoo", "PyLong_FromLong", "malloc"})
    EXPECT_FALSE(IsVendorFunction(name)) << name;
}

TEST(Stage, TheCarriedLibraryAnswersWhatEveryWheelStartsWith) {
  const auto answered = AnsweredFunctions();
  ASSERT_TRUE(answered) << answered.error().message;
  const std::set<std::string> names(answered->begin(), answered->end());
  for (const char* name : {"cudaMalloc", "cudaGetDeviceProperties", "cudaGetDeviceProperties_v2", "cuMemCreate",
                           "cublasCreate_v2", "cudnnCreate", "ncclCommInitRank", "nvmlInit_v2", "nvrtcVersion"})
    EXPECT_TRUE(names.contains(name)) << name;
  for (const std::string& name : names)
    EXPECT_TRUE(IsVendorFunction(name) || name.rfind("memstrata_", 0) == 0) << name << " is exported and is no answer";
}

TEST(Stage, SettingsNameTheCardAndTheNewestKernelsThatRunOnIt) {
  DryRunRequest request;
  request.card = *plan::FindCard("l40s");
  Wheel wheel;
  wheel.cuda_version = "12.6";
  wheel.architectures = {50, 80, 86, 90};
  const std::string text = SettingsText(request, wheel, "/records");
  EXPECT_NE(text.find("\nmajor 8\nminor 9\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nkernel_architecture 86\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\ncuda_version 12060\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace memstrata::dryrun
