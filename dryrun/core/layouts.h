#pragma once
// Structures that cross the border to the vendor's libraries. Facts, not code: orders and sizes of the fields were read
// from the public headers driver_types.h and cuda.h of CUDA 12.6 (12.6.77) and 13.0 (13.0.48).

#include <cstddef>
#include <cstdint>

namespace memstrata::device {

struct Dim3 {
  uint32_t x, y, z;
};

struct PointerAttributes {
  int32_t type;  // one of the constants below
  int32_t device;
  const void* device_pointer;
  const void* host_pointer;
};
inline constexpr size_t kPointerAttributes13Bytes = 88;  // CUDA 13 appends eight reserved longs
inline constexpr int32_t kPageableMemory = 0;
inline constexpr int32_t kPinnedMemory = 1;
inline constexpr int32_t kOnDeviceMemory = 2;

struct FunctionAttributes {
  size_t shared_bytes, constant_bytes, local_bytes;
  int32_t max_threads_per_block;
  int32_t register_count;
  int32_t ptx_version, binary_version;
  int32_t cache_mode;
  int32_t max_dynamic_shared_bytes;
  int32_t preferred_carveout;
  int32_t cluster[6];
  int32_t reserved[16];
};
static_assert(sizeof(FunctionAttributes) == 144);

struct LaunchConfiguration {  // cudaLaunchConfig_t and CUlaunchConfig begin like this
  Dim3 grid, block;
};

struct AllocationProperties {  // CUmemAllocationProp
  int32_t type, handle_types;
  int32_t location_type, location_id;
  void* windows_handle;
  uint8_t flags[8];
};
static_assert(sizeof(AllocationProperties) == 32);

struct HeuristicResult {  // cublasLtMatmulHeuristicResult_t
  uint64_t algorithm[8];
  size_t workspace_bytes;
  int32_t state;
  float waves_count;
  int32_t reserved[4];
};
static_assert(sizeof(HeuristicResult) == 96);

struct UniqueId {  // ncclUniqueId, passed by value
  char bytes[128];
};

/// Where a field of cudaDeviceProp lies in CUDA 12 (cudaGetDeviceProperties_v2) and in CUDA 13
/// (cudaGetDeviceProperties).
struct PropertyPlace {
  size_t offset_12;
  size_t offset_13;
};
inline constexpr size_t kDeviceProperties12Bytes = 1032;
inline constexpr size_t kDeviceProperties13Bytes = 1008;

namespace property {
inline constexpr PropertyPlace kName = {0, 0};  // 256 characters
inline constexpr PropertyPlace kUuid = {256, 256};
inline constexpr PropertyPlace kTotalGlobalMemory = {288, 288};
inline constexpr PropertyPlace kSharedMemoryPerBlock = {296, 296};
inline constexpr PropertyPlace kRegistersPerBlock = {304, 304};
inline constexpr PropertyPlace kWarpSize = {308, 308};
inline constexpr PropertyPlace kMemoryPitch = {312, 312};
inline constexpr PropertyPlace kMaxThreadsPerBlock = {320, 320};
inline constexpr PropertyPlace kMaxThreadsDimension = {324, 324};  // three
inline constexpr PropertyPlace kMaxGridSize = {336, 336};          // three
inline constexpr PropertyPlace kConstantMemory = {352, 352};
inline constexpr PropertyPlace kMajor = {360, 360};
inline constexpr PropertyPlace kMinor = {364, 364};
inline constexpr PropertyPlace kTextureAlignment = {368, 368};
inline constexpr PropertyPlace kMultiprocessorCount = {388, 384};
inline constexpr PropertyPlace kCanMapHostMemory = {400, 392};
inline constexpr PropertyPlace kConcurrentKernels = {576, 560};
inline constexpr PropertyPlace kPciBus = {584, 568};
inline constexpr PropertyPlace kAsyncEngineCount = {600, 584};
inline constexpr PropertyPlace kUnifiedAddressing = {604, 588};
inline constexpr PropertyPlace kMemoryBusWidth = {612, 592};
inline constexpr PropertyPlace kL2CacheBytes = {616, 596};
inline constexpr PropertyPlace kMaxThreadsPerMultiprocessor = {624, 604};
inline constexpr PropertyPlace kStreamPriorities = {628, 608};
inline constexpr PropertyPlace kSharedMemoryPerMultiprocessor = {640, 624};
inline constexpr PropertyPlace kRegistersPerMultiprocessor = {648, 632};
inline constexpr PropertyPlace kCooperativeLaunch = {688, 668};
inline constexpr PropertyPlace kSharedMemoryPerBlockOptin = {696, 672};
inline constexpr PropertyPlace kMaxBlocksPerMultiprocessor = {712, 688};
inline constexpr PropertyPlace kReservedSharedMemoryPerBlock = {720, 696};
inline constexpr PropertyPlace kHostRegister = {728, 704};
inline constexpr PropertyPlace kMemoryPools = {744, 720};
inline constexpr PropertyPlace kClusterLaunch = {772, 748};
}  // namespace property

}  // namespace memstrata::device
