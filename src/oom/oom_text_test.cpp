// Every format with figures of our own; what each message means is in docs/formats/oom_texts.md.

#include "oom/oom_text.h"

#include <gtest/gtest.h>

#include <string>

namespace memstrata::oom {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;

struct Case {
  std::string_view text;
  std::string_view kind;
  std::string_view format;
  OomVerdict verdict;
  std::optional<uint64_t> requested_bytes;
  std::optional<uint64_t> short_by_bytes;
};

class OomTextTest : public ::testing::TestWithParam<Case> {};

TEST_P(OomTextTest, IsUnderstood) {
  const Case& expected = GetParam();
  const std::vector<OomReport> reports = ExplainText(expected.text);
  ASSERT_EQ(reports.size(), 1U) << expected.text;
  const OomReport& report = reports[0];
  EXPECT_EQ(report.kind, expected.kind);
  EXPECT_EQ(report.format, expected.format);
  EXPECT_EQ(kOomVerdictNames[static_cast<size_t>(report.verdict)],
            kOomVerdictNames[static_cast<size_t>(expected.verdict)])
      << report.text;
  EXPECT_EQ(report.requested_bytes, expected.requested_bytes);
  EXPECT_EQ(report.short_by_bytes, expected.short_by_bytes);
  EXPECT_FALSE(report.text.empty());
}

// A cut text, at every length, is refused or understood, and never understood as something it does not say.
TEST_P(OomTextTest, CutTextsNeverInventFigures) {
  const std::string_view text = GetParam().text;
  for (size_t length = 0; length < text.size(); ++length) {
    for (const OomReport& report : ExplainText(text.substr(0, length))) {
      if (!report.short_by_bytes || !report.requested_bytes) continue;
      EXPECT_LE(*report.short_by_bytes, std::max(*report.requested_bytes, report.live_bytes.value_or(0)))
          << text.substr(0, length);
    }
  }
}

constexpr Case kPyTorch[] = {
    {"RuntimeError: CUDA out of memory. Tried to allocate 300.00 MiB (GPU 0; 8.00 GiB total capacity; 7.50 GiB already "
     "allocated; 100.00 MiB free; 50.00 MiB cached)",
     "torch", "torch_1_0", OomVerdict::kFull, 300 * kMiB, 200 * kMiB},
    {"RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 1; 8.00 GiB total capacity; 5.00 GiB already "
     "allocated; 512.00 MiB free; 7.00 GiB reserved in total by PyTorch)",
     "torch", "torch_1_4", OomVerdict::kFragmented, kGiB, 512 * kMiB},
    {"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacty of 8.00 "
     "GiB of which 32.00 MiB is free. Process 4321 has 7.90 GiB memory in use. Of the allocated memory 7.40 GiB is "
     "allocated by PyTorch, and 20.00 MiB is reserved by PyTorch but unallocated. If reserved",
     "torch", "torch_2_1", OomVerdict::kFull, 64 * kMiB, 32 * kMiB},
    {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 80.00 GiB "
     "of "
     "which 1.00 GiB is free. Process 1 has 60.00 GiB memory in use. Including non-PyTorch memory, this process has "
     "19.00 GiB memory in use. Of the allocated memory 17.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by "
     "PyTorch but unallocated.",
     "torch", "torch_2_2", OomVerdict::kOutside, 2 * kGiB, kGiB},
    {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU  has a total capacity of 24.00 GiB "
     "of "
     "which 12.00 GiB is free. Including non-PyTorch memory, this process has 12.00 GiB memory in use. 12.50 GiB "
     "allowed; Of the allocated memory 11.00 GiB is allocated by PyTorch, and 256.00 MiB is reserved by PyTorch but "
     "unallocated.",
     "torch", "torch_2_2", OomVerdict::kCap, 2 * kGiB, 768 * kMiB},
    {"HIP out of memory. Tried to allocate 90.00 GiB. GPU 0 has a total capacity of 64.00 GiB of which 60.00 GiB is "
     "free. Of the allocated memory 1.00 GiB is allocated by PyTorch, with 1.00 MiB allocated in private pools (e.g., "
     "HIP Graphs), and 0 bytes is reserved by PyTorch but unallocated.",
     "torch", "torch_2_4", OomVerdict::kTooLarge, 90 * kGiB, 30 * kGiB},
    {"CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 8.00 GiB total capacity; 1.00 GiB already allocated; "
     "5.00 "
     "GiB free; 1.20 GiB reserved in total by PyTorch)",
     "torch", "torch_1_4", OomVerdict::kContradictory, 20 * kMiB, std::nullopt},
    {"CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 8.00 GiB of which 9.00 GiB is "
     "free. "
     "Of the allocated memory 1.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.",
     "torch", "torch_2_2", OomVerdict::kContradictory, 20 * kMiB, std::nullopt},
    {"CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 8.00 GiB of which 10.00 MiB is "
     "free. "
     "Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use. Of the allocated memory 1.00 "
     "GiB "
     "is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.",
     "torch", "torch_2_2", OomVerdict::kContradictory, 20 * kMiB, std::nullopt},
    {"XPU out of memory. Tried to allocate 3.00 GiB (GPU 0; 15.00 GiB total capacity; 13.00 GiB already allocated; "
     "13.50 "
     "GiB reserved in total by PyTorch)",
     "torch", "torch_1_4", OomVerdict::kFull, 3 * kGiB, std::nullopt},
    {"CUDA out of memory. Tried to allocate more than 1EB memory.", "torch", "torch", OomVerdict::kContradictory,
     std::nullopt, std::nullopt},
    {"MPS backend out of memory (MPS allocated: 8.00 GiB, other allocations: 1.00 GiB, max allowed: 9.50 GiB). Tried "
     "to "
     "allocate 1.00 GiB on private pool.",
     "torch", "torch_mps", OomVerdict::kCap, kGiB, 512 * kMiB},
    {"RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at \"CUDACachingAllocator.cpp\":700", "torch",
     "torch_nvml_assert", OomVerdict::kMasked, std::nullopt, std::nullopt},
    {"| PyTorch CUDA memory summary, device ID 0 | CUDA OOMs: 1 | cudaMalloc retries: 2 | | Allocated memory | 6144 "
     "MiB | "
     "7000 MiB | | Active memory | 6200 MiB | 7000 MiB | | GPU reserved memory | 7200 MiB | 7300 MiB | | "
     "Non-releasable "
     "memory | 900 MiB | 950 MiB |",
     "torch", "torch_memory_summary", OomVerdict::kMasked, std::nullopt, std::nullopt},
    {"MA 12.5 GB Max_MA 13.0 GB CA 15.0 GB Max_CA 16 GB", "torch", "deepspeed", OomVerdict::kNotExhaustion,
     std::nullopt, std::nullopt},
};
INSTANTIATE_TEST_SUITE_P(PyTorch, OomTextTest, ::testing::ValuesIn(kPyTorch));

constexpr Case kXla[] = {
    {"RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1073741824 bytes.", "jax", "xla_allocate",
     OomVerdict::kMasked, kGiB, std::nullopt},
    {"RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1.00GiB. [executable_name='jit_step']", "jax",
     "xla_allocate", OomVerdict::kMasked, kGiB, std::nullopt},
    {"RESOURCE_EXHAUSTED: Failed to allocate request for 1.0GiB (1073741825B) on device ordinal 0", "jax",
     "xla_request", OomVerdict::kMasked, kGiB + 1, std::nullopt},
    {"hlo_rematerialization.cc:2946] Can't reduce memory use below 10.00GiB (10737418240 bytes) by rematerialization; "
     "only reduced to 12.00GiB (12884901888 bytes), down from 14.00GiB (15032385536 bytes) originally",
     "jax", "xla_rematerialization", OomVerdict::kNotExhaustion, std::nullopt, 2 * kGiB},
    {"The byte size of input/output arguments (4294967296) exceeds the base limit (3221225472). This", "jax",
     "xla_arguments", OomVerdict::kFull, std::nullopt, kGiB},
    {"BufferAssignment OOM Debugging. BufferAssignment stats: parameter allocation: 2.00GiB preallocated temp "
     "allocation: "
     "3.00GiB total allocation: 5.50GiB total fragmentation: 1.0KiB (0.00%) Peak buffers: Buffer 1: Size: 1.00GiB "
     "Operator: op_name=\"jit(f)/dot\" XLA Label: dot Shape: f32[16384,16384]",
     "jax", "xla_buffers", OomVerdict::kNotExhaustion, std::nullopt, std::nullopt},
    {"failed to allocate 8.00GiB (8589934592 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory failed to "
     "allocate 7.20GiB (7730940928 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
     "jax", "xla_driver", OomVerdict::kNotExhaustion, 8 * kGiB, std::nullopt},
    {"XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 20.00G of 16.00G hbm. Exceeded hbm "
     "capacity by 4.00G. Total hbm usage >= 20.50G: reserved 512.00M program 8.00G arguments 12.00G Largest program "
     "allocations in hbm: 1. Size: 8.00G Operator: op_name=\"jit(f)/dot\" Shape: f32[4096,128]{1,0} XLA label: dot",
     "xla_tpu", "tpu_compile", OomVerdict::kFull, std::nullopt, 4 * kGiB},
    {"Ran out of memory in memory space vmem while allocating on stack for %fusion. Scoped allocation with size 20.00M "
     "and limit 16.00M exceeded scoped vmem limit by 4.00M.",
     "xla_tpu", "tpu_vmem", OomVerdict::kFull, std::nullopt, 4 * kMiB},
    {"Error loading program 'jit_f': Attempting to reserve 9.00G at the bottom of memory. That was not possible. There "
     "are 8.00G free, 0B reserved, and 7.00G reservable.",
     "xla_tpu", "tpu_load", OomVerdict::kFull, 9 * kGiB, kGiB},
    {"Attempting to allocate 3.00G. That was not possible. There are 4.00G free.; (0x0x0_HBM0) Due to fragmentation, "
     "the "
     "largest contiguous region of free memory is 2.00G.",
     "xla_tpu", "tpu_run", OomVerdict::kFragmented, 3 * kGiB, kGiB},
    {"Attempting to allocate 3.00G. That was not possible. There are 2.00G free.; (0x0x0_HBM0)", "xla_tpu", "tpu_run",
     OomVerdict::kFull, 3 * kGiB, kGiB},
};
INSTANTIATE_TEST_SUITE_P(Xla, OomTextTest, ::testing::ValuesIn(kXla));

constexpr Case kBfc[] = {
    {"Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00GiB (rounded to 1073741824)requested by op add "
     "bfc_allocator.cc] Stats: Limit: 8589934592 InUse: 8053063680 MaxInUse: 8053063680 NumAllocs: 12 MaxAllocSize: 99",
     "tensorflow", "bfc", OomVerdict::kFull, kGiB, 512 * kMiB},
    {"Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00GiB (rounded to 1073741824)requested by op add "
     "Next region of size 8589934592 Free at 7f0010 of size 805306368 next 4 InUse at 7f0020 of size 100 next 5 Free "
     "at "
     "7f0030 of size 536870912 next 6 Stats: Limit: 8589934592 InUse: 7247757312 MaxInUse: 8053063680",
     "tensorflow", "bfc", OomVerdict::kFragmented, kGiB, 256 * kMiB},
    {"Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.20GiB with freed_by_count=0. The caller indicates "
     "that this is not a failure, but this may mean that there could be performance gains.",
     "tensorflow", "bfc", OomVerdict::kNotExhaustion, 2362232013, std::nullopt},
    {"OOM when allocating tensor with shape[1024,1024,256] and type float on /job:localhost/replica:0/task:0/"
     "device:GPU:0 by allocator GPU_0_bfc",
     "tensorflow", "tensor", OomVerdict::kMasked, kGiB, std::nullopt},
    {"OOM when allocating tensor with shape[1024,1024] and type half on /device:CPU:0 by allocator cuda_host_bfc",
     "tensorflow", "tensor_host", OomVerdict::kMasked, 2 * kMiB, std::nullopt},
};
INSTANTIATE_TEST_SUITE_P(Bfc, OomTextTest, ::testing::ValuesIn(kBfc));

constexpr Case kEngines[] = {
    {"ValueError: No available memory for the cache blocks. Try increasing", "vllm", "vllm_no_cache", OomVerdict::kCap,
     std::nullopt, std::nullopt},
    {"The model's max seq len (32768) is larger than the maximum number of tokens that can be stored in KV cache "
     "(26000).",
     "vllm", "vllm_tokens", OomVerdict::kCap, std::nullopt, std::nullopt},
    {"To serve at least one request with the models's max seq len (32768), (4.00 GiB KV cache is needed, which is "
     "larger than the available KV cache memory (3.00 GiB). Based on the available memory, the estimated maximum model "
     "length is 24576.",
     "vllm", "vllm_request", OomVerdict::kCap, 4 * kGiB, kGiB},
    {"Model loading took 14.2 GiB and 3 seconds. Available KV cache memory: 20.1 GiB. GPU KV cache size: 100,000 "
     "tokens",
     "vllm", "vllm_log", OomVerdict::kNotExhaustion, std::nullopt, std::nullopt},
    {"Load weight end. avail mem=2.10 GB RuntimeError: Not enough memory. Please try to increase "
     "--mem-fraction-static.",
     "sglang", "sglang_start", OomVerdict::kCap, std::nullopt, std::nullopt},
    {"KV Cache is allocated. #tokens: 5000, K size: 1.00 GB, V size: 1.00 GB Memory pool end. avail mem=5.10 GB",
     "sglang", "sglang_log", OomVerdict::kNotExhaustion, std::nullopt, std::nullopt},
    {"using device CUDA0 (Card) - 8000 MiB free load_tensors: CUDA0 model buffer size = 7000.00 MiB "
     "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 1500.00 MiB on device 0: cudaMalloc failed: out of memory "
     "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 1572864000",
     "llama_cpp", "ggml_buffer", OomVerdict::kFull, 1500 * kMiB, 500 * kMiB},
    {"projected to use 9000 MiB of device memory vs. 8000 MiB of free device memory", "llama_cpp", "fit",
     OomVerdict::kFull, 9000 * kMiB, 1000 * kMiB},
    {"CUDA0 model buffer size = 4000.00 MiB CUDA0 KV buffer size = 1024.00 MiB offloaded 33/33 layers to GPU",
     "llama_cpp", "llama_log", OomVerdict::kNotExhaustion, std::nullopt, std::nullopt},
    {"7168 MB VRAM available, loading up to 19 GPU layers", "llama_cpp", "ollama_layers", OomVerdict::kNotExhaustion,
     std::nullopt, std::nullopt},
    {"layers.requested=-1 layers.model=33 layers.offload=20 memory.available=\"[7.2 GiB]\" memory.required.full=\"9.2 "
     "GiB\" memory.required.kv=\"1.0 GiB\"",
     "llama_cpp", "ollama_offload", OomVerdict::kFull, 9878424781, 2 * kGiB},
};
INSTANTIATE_TEST_SUITE_P(Engines, OomTextTest, ::testing::ValuesIn(kEngines));

constexpr Case kDrivers[] = {
    {"RuntimeError: CUDA error: out of memory", "cuda", "cuda_error", OomVerdict::kMasked, std::nullopt, std::nullopt},
    {"cuda runtime error (2) : out of memory at THCStorage.cu:58", "cuda", "cuda_runtime", OomVerdict::kMasked,
     std::nullopt, std::nullopt},
    {"CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)", "cuda", "cublas", OomVerdict::kMasked,
     std::nullopt, std::nullopt},
    {"NCCL WARN Cuda failure 'out of memory'", "cuda", "nccl", OomVerdict::kMasked, std::nullopt, std::nullopt},
    {"NCCL WARN Cuda failure 'out of memory' NCCL WARN Failed to CUDA calloc async 4194304 bytes", "cuda", "nccl",
     OomVerdict::kMasked, 4194304, std::nullopt},
    {"Failed to CUDA calloc 6291456 bytes", "cuda", "nccl_calloc", OomVerdict::kMasked, 6291456, std::nullopt},
    {"std::bad_alloc: out_of_memory: RMM failure at:pool.hpp:196: Maximum pool size exceeded", "cuda", "rmm_pool",
     OomVerdict::kMasked, std::nullopt, std::nullopt},
    {"DefaultCPUAllocator: can't allocate memory: you tried to allocate 1099511627776 bytes. Error code 12 (Cannot "
     "allocate memory)",
     "host", "cpu_allocator", OomVerdict::kMasked, uint64_t{1} << 40, std::nullopt},
    {"kernel: Out of memory: Killed process 4321 (python3) total-vm:99999999kB, anon-rss:62914560kB, file-rss:0kB",
     "host", "kernel_kill", OomVerdict::kFull, std::nullopt, std::nullopt},
    {"Memory cgroup out of memory: Killed process 99 (python) total-vm:9kB, anon-rss:8kB", "host", "kernel_kill",
     OomVerdict::kCap, std::nullopt, std::nullopt},
    {"RuntimeError: DataLoader worker (pid 77) is killed by signal: Killed.", "host", "worker_killed",
     OomVerdict::kMasked, std::nullopt, std::nullopt},
    {"command terminated with exit code 137", "host", "exit_137", OomVerdict::kMasked, std::nullopt, std::nullopt},
    {"RuntimeError: unable to mmap 4096 bytes from file </dev/shm/x>: Cannot allocate memory (12)", "host", "mmap",
     OomVerdict::kMasked, 4096, std::nullopt},
};
INSTANTIATE_TEST_SUITE_P(Drivers, OomTextTest, ::testing::ValuesIn(kDrivers));

TEST(ExplainText, RanksThatPrintTheSameAreOneReport) {
  const std::string message =
      "CUDA out of memory. Tried to allocate 2.00 MiB (GPU 0; 8.00 GiB total capacity; 7.90 GiB "
      "already allocated; 1.00 MiB free; 7.95 GiB reserved in total by PyTorch)\n";
  const auto reports = ExplainText("[rank0]: " + message + "[rank1]: " + message + "[rank0]: " + message);
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].count, 3U);
  EXPECT_EQ(reports[0].where, "[rank0] [rank1]");
}

TEST(ExplainText, AnOutsideProcessOfAContainerMayBeTheOwn) {
  const auto reports = ExplainText(
      "CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 40.00 GiB of which 0.50 GiB is "
      "free. Process 17 has 39.00 GiB memory in use. Of the allocated memory 38.00 GiB is allocated by PyTorch, and "
      "0.50 GiB is reserved by PyTorch but unallocated.");
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].neighbour_bytes, 0U);
  EXPECT_EQ(reports[0].outside_bytes, kGiB / 2);
}

// What the message does not say is unknown, not 0; and a device that is 77 % live is not full by that alone.
TEST(ExplainText, WithoutFreeBytesNothingIsOutside) {
  const auto reports = ExplainText(
      "XPU out of memory. Tried to allocate 5.00 GiB. GPU 0 has a total capacity of 15.56 GiB. Of the allocated memory "
      "12.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.");
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].verdict, OomVerdict::kFull);
  EXPECT_FALSE(reports[0].outside_bytes.has_value());
  EXPECT_NE(reports[0].text.find("Live memory, 12.0 GiB, and the request are more than the device's 15.6 GiB"),
            std::string::npos)
      << reports[0].text;
  EXPECT_EQ(reports[0].text.find("outside"), std::string::npos);
}

TEST(ExplainText, FreeAndIdleTogetherWouldHaveBeenEnough) {
  const auto reports = ExplainText(
      "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 11.17 GiB total capacity; 8.00 GiB already allocated; "
      "1.50 GiB free; 1.20 GiB cached)");
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].verdict, OomVerdict::kFragmented);
  EXPECT_EQ(reports[0].text.find("fills the device"), std::string::npos);
}

TEST(ExplainText, AMessageWithOneSizeDoesNotCarryNone) {
  const auto reports = ExplainText("Failed to CUDA calloc 6291456 bytes");
  ASSERT_EQ(reports.size(), 1U);
  ASSERT_EQ(reports[0].missing.size(), 1U);
  EXPECT_EQ(reports[0].missing[0].what, "other sizes");
  EXPECT_NE(reports[0].text.find("6.00 MiB"), std::string::npos);
}

TEST(ExplainText, AnEngineThatServesIsAdvisedByItsOwnSetting) {
  const std::string failure =
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB "
      "of which 1.00 GiB is free. Of the allocated memory 77.00 GiB is allocated by PyTorch, and 0.50 GiB is reserved "
      "by "
      "PyTorch but unallocated.\n";
  const auto plain = ExplainText(failure);
  ASSERT_EQ(plain.size(), 1U);
  EXPECT_EQ(plain[0].remedies[0].text.find("Lower --"), std::string::npos);
  for (const auto& [lines, setting] :
       {std::pair<std::string, std::string>{"server_args=ServerArgs(mem_fraction_static=0.88)  # sglang\n",
                                            "--mem-fraction-static"},
        {"vllm engine args: gpu_memory_utilization=0.95\n", "--gpu-memory-utilization"}}) {
    const auto reports = ExplainText(lines + failure);
    ASSERT_FALSE(reports.empty());
    EXPECT_NE(reports[0].remedies[0].text.find("Lower " + setting), std::string::npos);
    EXPECT_EQ(reports[0].remedies[0].bytes, reports[0].short_by_bytes);
  }
}

// The driver counts a little more as free than it can give: by how much the request missed, the message does not say.
TEST(ExplainText, AShortfallIsNeverZero) {
  const auto reports = ExplainText(
      "RuntimeError: CUDA out of memory. Tried to allocate 2.00 MiB (GPU 0; 7.93 GiB total capacity; 7.00 GiB already "
      "allocated; 3.94 MiB free; 84.92 MiB cached)");
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].short_by_bytes, std::nullopt);
  EXPECT_EQ(reports[0].text.find("short by"), std::string::npos);
  for (const OomRemedy& remedy : reports[0].remedies) EXPECT_NE(remedy.bytes, 0U) << remedy.text;
}

TEST(ExplainText, CountersThatAreMissingAreNoFigures) {
  const auto reports = ExplainText(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 0 bytes. GPU 0 has a total capacity of 0 bytes of "
      "which 0 bytes is free. Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by "
      "PyTorch but unallocated.");
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].verdict, OomVerdict::kContradictory);
  EXPECT_TRUE(reports[0].remedies.empty());
}

TEST(ExplainText, AFragmentedMessageTellsWhatLiesOutside) {
  const auto reports = ExplainText(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 16.00 GiB "
      "of which 512.00 MiB is free. Including non-PyTorch memory, this process has 15.50 GiB memory in use. Of the "
      "allocated memory 12.00 GiB is allocated by PyTorch, and 3.00 GiB is reserved by PyTorch but unallocated.");
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].verdict, OomVerdict::kFragmented);
  EXPECT_NE(reports[0].text.find("512 MiB of this process lies outside PyTorch."), std::string::npos);
}

TEST(ExplainText, LlamaCppKeepsItsMargin) {
  const auto reports = ExplainText(
      "llama_params_fit_impl: projected to use 20000 MiB of device memory vs. 12000 MiB of free device memory\n"
      "llama_params_fit_impl: cannot fulfill margin of 1000 MiB, need to reduce device memory by 9000 MiB\n");
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].short_by_bytes, 9000 * kMiB);
  EXPECT_EQ(reports[0].remedies[0].bytes, 9000 * kMiB);
  EXPECT_NE(reports[0].text.find("7.81 GiB too much, 8.79 GiB with the margin"), std::string::npos) << reports[0].text;
}

TEST(ExplainText, NearlyEqualFiguresOfVllmAreTold) {
  const auto reports = ExplainText(
      "ValueError: Free memory on device cuda:0 (19.77/22.05 GiB) on startup is less than desired GPU memory "
      "utilization "
      "(0.9, 19.84 GiB).");
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_NE(reports[0].text.find("only 19.77 GiB is free at its start: short by 0.07 GiB"), std::string::npos)
      << reports[0].text;
}

TEST(ExplainText, RmmOnTheDriverHasNoPool) {
  const auto reports =
      ExplainText("MemoryError: std::bad_alloc: out_of_memory: CUDA error at: cuda_memory_resource.hpp");
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].text.find("pool"), std::string::npos) << reports[0].text;
}

TEST(ExplainText, AFailureThatWasCaughtIsToldAsOne) {
  const std::string message =
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.00 "
      "GiB "
      "of which 19.00 GiB is free. Of the allocated memory 36.00 GiB is allocated by PyTorch, and 23.00 GiB is "
      "reserved "
      "by PyTorch but unallocated.";
  const auto text_of = [](const std::string& log) { return ExplainText(log).at(0).text; };
  EXPECT_NE(text_of("WARNING: caught and retried: " + message).find("says that the program caught it"),
            std::string::npos);
  EXPECT_NE(text_of(message + "\nstep 14 loss 2.3\n").find("The log goes on with steps"), std::string::npos);
  EXPECT_EQ(text_of("step 13 loss 2.4\n" + message + "\n").find("caught"), std::string::npos);
}

TEST(ExplainText, PlainTextHasNoReport) {
  EXPECT_TRUE(ExplainText("").empty());
  EXPECT_TRUE(ExplainText("Tried to allocate a budget for memory; out of time.").empty());
}

}  // namespace
}  // namespace memstrata::oom
