// Drivers and libraries: failures that carry no sizes, or only the last request. Some only may be a lack of memory.

#include "oom/families/family.h"

namespace memstrata::oom {
namespace {

struct MaskedMessage {
  std::string_view words;
  std::string_view format;
  std::string_view text;
};

constexpr std::string_view kDriver = "The driver refused memory outside the framework's own allocator.";
constexpr std::string_view kLibrary =
    "A library could not make its handle or workspace: possibly no memory was left for it outside the framework's "
    "allocator.";
constexpr std::string_view kNccl =
    "The collective library could not have its buffers; on other ranks the same failure shows as a closed socket.";
constexpr std::string_view kPool = "The pool of RMM had no room.";
constexpr std::string_view kRmm = "The driver refused memory that RMM asked it for.";
constexpr std::string_view kLevelZero = "The device ran out of memory or resources (Level Zero, SYCL).";

// Where several match at one place, the first here wins.
constexpr MaskedMessage kMessages[] = {
    {"Maximum pool size exceeded", "rmm_pool", kPool},
    {"out_of_memory: CUDA error at", "rmm_cuda", kRmm},
    {"out_of_memory: RMM failure at", "rmm", kRmm},
    {"Cuda failure 'out of memory'", "nccl", kNccl},
    {"Failed to CUDA calloc", "nccl_calloc", kNccl},
    {"CUBLAS_STATUS_ALLOC_FAILED", "cublas", kLibrary},
    {"CUBLAS_STATUS_NOT_INITIALIZED", "cublas_handle", kLibrary},
    {"CUDNN_STATUS_ALLOC_FAILED", "cudnn", kLibrary},
    {"CUDNN_STATUS_NOT_INITIALIZED", "cudnn_handle", kLibrary},
    {"CURAND_STATUS_ALLOCATION_FAILED", "curand", kLibrary},
    {"CUDA error: out of memory", "cuda_error", kDriver},
    {"HIP error: out of memory", "hip_error", kDriver},
    {"cuda runtime error (2)", "cuda_runtime", kDriver},
    {"cudaErrorMemoryAllocation", "cuda_runtime", kDriver},
    {"hipErrorOutOfMemory", "hip_runtime", kDriver},
    {"CUDA_ERROR_OUT_OF_MEMORY", "cuda_driver", kDriver},
    {"UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY", "level_zero", kLevelZero},
    {"UR_RESULT_ERROR_OUT_OF_RESOURCES", "level_zero", kLevelZero},
};

// One failure is named several times on its line, and by the framework that met it.
constexpr size_t kSameFailure = 240;
constexpr std::string_view kOtherFamilies[] = {"from device:", "RESOURCE_EXHAUSTED", "cudaMalloc failed"};

struct Hit {
  size_t at = 0;
  const MaskedMessage* message = nullptr;
};

std::vector<Hit> FindHits(std::string_view text) {
  std::vector<Hit> hits;
  for (const MaskedMessage& message : kMessages) {
    for (size_t at = text.find(message.words); at != std::string_view::npos;
         at = text.find(message.words, at + message.words.size()))
      hits.push_back({at, &message});
  }
  std::sort(hits.begin(), hits.end(),
            [](const Hit& a, const Hit& b) { return a.at != b.at ? a.at < b.at : a.message < b.message; });
  return hits;
}

bool BelongsToAnother(std::string_view text, size_t at) {
  const size_t begin = at - std::min<size_t>(at, 120);
  const std::string_view before = text.substr(begin, at - begin);
  return std::any_of(std::begin(kOtherFamilies), std::end(kOtherFamilies),
                     [&](std::string_view words) { return before.find(words) != std::string_view::npos; });
}

}  // namespace

void FindCuda(const LogStream& stream, std::vector<OomReport>& reports) {
  const std::string_view text = stream.text;
  size_t taken_until = 0;
  for (const Hit& hit : FindHits(text)) {
    if (hit.at < taken_until || BelongsToAnother(text, hit.at)) continue;
    taken_until = hit.at + kSameFailure;
    const std::string_view failure = text.substr(hit.at, kSameFailure);
    // Of several names for one failure, the most telling one.
    const MaskedMessage* message = hit.message;
    for (const MaskedMessage& other : kMessages) {
      if (&other < message && failure.find(other.words) != std::string_view::npos) message = &other;
    }
    OomReport report = StartReport(stream, hit.at, "cuda", message->format);
    if (const auto calloc = FindPattern(failure, "CUDA calloc <skip><bytes> bytes"))
      report.requested_bytes = calloc->values[0].bytes;
    std::string what(message->text);
    if (report.requested_bytes) what += fmt::format(" It asked for {}.", Show(report.requested_bytes));
    MarkMasked(report, std::move(what),
               "See what was free on the device then (nvidia-smi, rocm-smi), or record a snapshot and the device's own "
               "counters together.");
    reports.push_back(std::move(report));
  }
}

}  // namespace memstrata::oom
