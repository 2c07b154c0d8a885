#include "dryrun/vendor.h"

#include <algorithm>
#include <iterator>

namespace memstrata::dryrun {
namespace {

// Names of libraries as the vendor publishes them, without the release at the end.
constexpr std::string_view kLibraries[] = {
    "libcuda.so",      "libcudart.so",     "libcublas.so",       "libcublasLt.so",   "libcudnn",
    "libcufft.so",     "libcufile.so",     "libcupti.so",        "libcurand.so",     "libcusolver.so",
    "libcusparse.so",  "libcusparseLt.so", "libnccl.so",         "libnvrtc.so",      "libnvToolsExt.so",
    "libnvJitLink.so", "libnvidia-ml.so",  "libnvshmem_host.so", "libcusolverMg.so", "libcudss.so",
};

// Beginnings of function names. The runtime's own start-up functions have two underscores.
constexpr std::string_view kFunctions[] = {
    "cuda",  "__cuda", "cublas", "cudnn", "cufft", "curand",    "cusolver", "cusparse", "cuFile",
    "cupti", "nccl",   "nvrtc",  "nvtx",  "nvml",  "nvJitLink", "nvshmem",  "pnccl",    "cudss",
};

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

}  // namespace

bool IsVendorLibrary(std::string_view library_name) {
  return std::any_of(std::begin(kLibraries), std::end(kLibraries),
                     [&](std::string_view known) { return library_name.substr(0, known.size()) == known; });
}

bool IsVendorFunction(std::string_view function_name) {
  const bool begins = std::any_of(std::begin(kFunctions), std::end(kFunctions), [&](std::string_view known) {
    return function_name.substr(0, known.size()) == known;
  });
  // The driver's functions are "cu" and a capital; the C++ functions of NVSHMEM carry its name inside theirs.
  const bool is_driver = function_name.size() > 2 && function_name.substr(0, 2) == "cu" && IsUpper(function_name[2]);
  const bool is_mangled = function_name.substr(0, 2) == "_Z" && function_name.find("nvshmem") != std::string_view::npos;
  return begins || is_driver || is_mangled;
}

}  // namespace memstrata::dryrun
