// CUDA runtime: which devices there are and what they can do.

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "core/device_memory.h"
#include "core/export.h"
#include "core/hardware.h"
#include "core/layouts.h"
#include "core/settings.h"
#include "core/status.h"

namespace memstrata::device {

ThreadState& CurrentThread() {
  thread_local ThreadState state;
  return state;
}

int32_t Remember(int32_t status) {
  if (status != kSuccess) CurrentThread().last_error = status;
  return status;
}

namespace {

bool IsDevice(int32_t device) { return device >= 0 && device < ProcessSettings().device_count; }

template <class T>
void Put(void* properties, size_t offset, T value) {
  std::memcpy(static_cast<char*>(properties) + offset, &value, sizeof(value));
}

// One row of the table: `offset` picks the release.
void FillProperties(void* properties, int32_t device, size_t PropertyPlace::*offset) {
  const Settings& card = ProcessSettings();
  const auto put = [&](PropertyPlace place, auto value) { Put(properties, place.*offset, value); };
  std::snprintf(static_cast<char*>(properties), 256, "%s", card.card_name.c_str());
  put(property::kUuid, static_cast<uint64_t>(device) + 1);
  put(property::kTotalGlobalMemory, size_t{card.capacity_bytes});
  put(property::kSharedMemoryPerBlock, size_t{kSharedMemoryPerBlockBytes});
  put(property::kRegistersPerBlock, kRegistersPerMultiprocessor);
  put(property::kWarpSize, kWarpSize);
  put(property::kMemoryPitch, size_t{INT32_MAX});
  put(property::kMaxThreadsPerBlock, kMaxThreadsPerBlock);
  const int32_t block[3] = {1024, 1024, 64};
  const int32_t grid[3] = {INT32_MAX, 65535, 65535};
  std::memcpy(static_cast<char*>(properties) + property::kMaxThreadsDimension.*offset, block, sizeof(block));
  std::memcpy(static_cast<char*>(properties) + property::kMaxGridSize.*offset, grid, sizeof(grid));
  put(property::kConstantMemory, size_t{65536});
  put(property::kMajor, card.major);
  put(property::kMinor, card.minor);
  put(property::kTextureAlignment, size_t{512});
  put(property::kMultiprocessorCount, card.multiprocessor_count);
  put(property::kCanMapHostMemory, int32_t{1});
  put(property::kConcurrentKernels, int32_t{1});
  put(property::kPciBus, kPciBus + device);
  put(property::kAsyncEngineCount, int32_t{3});
  put(property::kUnifiedAddressing, int32_t{1});
  put(property::kMemoryBusWidth, int32_t{5120});
  put(property::kL2CacheBytes, kL2CacheBytes);
  put(property::kMaxThreadsPerMultiprocessor, card.threads_per_multiprocessor);
  put(property::kStreamPriorities, int32_t{1});
  put(property::kSharedMemoryPerMultiprocessor, size_t(SharedMemoryPerMultiprocessorBytes(card)));
  put(property::kRegistersPerMultiprocessor, kRegistersPerMultiprocessor);
  put(property::kCooperativeLaunch, int32_t{1});
  put(property::kSharedMemoryPerBlockOptin, size_t(SharedMemoryOptinBytes(card)));
  put(property::kMaxBlocksPerMultiprocessor, MaxBlocksPerMultiprocessor(card));
  put(property::kReservedSharedMemoryPerBlock, size_t{kReservedSharedMemoryBytes});
  put(property::kHostRegister, int32_t{1});
  put(property::kMemoryPools, int32_t{1});
  put(property::kClusterLaunch, int32_t{card.major >= 9});
}

}  // namespace

/// Value of a cudaDevAttr (the driver's CUdevice_attribute has the same numbers); 0 for those that no program was seen
/// to depend on.
int32_t DeviceAttribute(int32_t attribute, int32_t device) {
  const Settings& card = ProcessSettings();
  switch (attribute) {
    case 1:
      return kMaxThreadsPerBlock;
    case 2:
    case 3:
      return 1024;  // block x, y
    case 4:
      return 64;  // block z
    case 5:
      return INT32_MAX;  // grid x
    case 6:
    case 7:
      return 65535;  // grid y, z
    case 8:
      return kSharedMemoryPerBlockBytes;
    case 9:
      return 65536;  // constant memory
    case 10:
      return kWarpSize;
    case 11:
      return INT32_MAX;  // pitch
    case 12:
    case 82:
      return kRegistersPerMultiprocessor;
    case 13:
      return 1'500'000;  // clock in kHz, general knowledge
    case 14:
      return 512;  // texture alignment
    case 15:
    case 19:
    case 31:
    case 41:
      return 1;  // overlap, host mapping, concurrent kernels, one address space
    case 16:
      return card.multiprocessor_count;
    case 33:
      return kPciBus + device;
    case 36:
      return 1'500'000;  // memory clock in kHz, general knowledge
    case 37:
      return 5120;  // bus width in bits, general knowledge
    case 38:
      return kL2CacheBytes;
    case 39:
      return card.threads_per_multiprocessor;
    case 40:
      return 3;  // copy engines
    case 75:
      return card.major;
    case 76:
      return card.minor;
    case 78:
      return 1;  // stream priorities
    case 81:
      return SharedMemoryPerMultiprocessorBytes(card);
    case 95:
    case 99:
    case 102:
    case 115:
      return 1;  // cooperative launch, host register, virtual memory, pools
    case 97:
      return SharedMemoryOptinBytes(card);
    case 103:
      return 1;  // memory can be exported as a file descriptor
    case 106:
      return MaxBlocksPerMultiprocessor(card);
    case 111:
      return kReservedSharedMemoryBytes;
    case 120:
      return card.major >= 9;  // cluster launch
    default:
      return 0;
  }
}

}  // namespace memstrata::device

using namespace memstrata::device;

MEMSTRATA_ANSWER(int32_t) cudaGetDeviceCount(int32_t* count) {
  *count = ProcessSettings().device_count;
  return *count > 0 ? kSuccess : Remember(kNoDevice);
}

MEMSTRATA_ANSWER(int32_t) cudaGetDevice(int32_t* device) {
  *device = CurrentThread().device;
  return kSuccess;
}

MEMSTRATA_ANSWER(int32_t) cudaSetDevice(int32_t device) {
  if (!IsDevice(device)) return Remember(kInvalidDevice);
  CurrentThread().device = device;
  return kSuccess;
}

MEMSTRATA_ANSWER(int32_t) cudaGetDeviceProperties_v2(void* properties, int32_t device) {
  if (!IsDevice(device)) return Remember(kInvalidDevice);
  std::memset(properties, 0, kDeviceProperties12Bytes);
  FillProperties(properties, device, &PropertyPlace::offset_12);
  return kSuccess;
}

MEMSTRATA_ANSWER(int32_t) cudaGetDeviceProperties(void* properties, int32_t device) {
  if (!IsDevice(device)) return Remember(kInvalidDevice);
  std::memset(properties, 0, kDeviceProperties13Bytes);
  FillProperties(properties, device, &PropertyPlace::offset_13);
  return kSuccess;
}

MEMSTRATA_ANSWER(int32_t) cudaDeviceGetAttribute(int32_t* value, int32_t attribute, int32_t device) {
  if (!IsDevice(device)) return Remember(kInvalidDevice);
  *value = DeviceAttribute(attribute, device);
  return kSuccess;
}

MEMSTRATA_ANSWER(int32_t) cudaDeviceGetPCIBusId(char* text, int32_t length, int32_t device) {
  std::snprintf(text, static_cast<size_t>(std::max(length, 0)), "0000:%02X:00.0", kPciBus + device);
  return kSuccess;
}

MEMSTRATA_ANSWER(int32_t) cudaDeviceCanAccessPeer(int32_t* can, int32_t device, int32_t peer) {
  *can = device != peer ? 1 : 0;
  return kSuccess;
}

MEMSTRATA_ANSWER(int32_t) cudaDeviceGetStreamPriorityRange(int32_t* least, int32_t* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return kSuccess;
}

MEMSTRATA_ANSWER(int32_t) cudaRuntimeGetVersion(int32_t* version) {
  *version = ProcessSettings().cuda_version;
  return kSuccess;
}

MEMSTRATA_ANSWER(int32_t) cudaDriverGetVersion(int32_t* version) {
  *version = ProcessSettings().cuda_version;
  return kSuccess;
}

MEMSTRATA_ANSWER(int32_t) cudaGetLastError() {
  const int32_t error = CurrentThread().last_error;
  CurrentThread().last_error = kSuccess;
  return error;
}

MEMSTRATA_ANSWER(int32_t) cudaPeekAtLastError() { return CurrentThread().last_error; }

MEMSTRATA_ANSWER(const char*) cudaGetErrorName(int32_t error) {
  switch (error) {
    case kSuccess:
      return "cudaSuccess";
    case kInvalidValue:
      return "cudaErrorInvalidValue";
    case kMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case kNoDevice:
      return "cudaErrorNoDevice";
    case kInvalidDevice:
      return "cudaErrorInvalidDevice";
    default:
      return "cudaErrorUnknown";
  }
}

MEMSTRATA_ANSWER(const char*) cudaGetErrorString(int32_t error) {
  switch (error) {
    case kSuccess:
      return "no error";
    case kInvalidValue:
      return "invalid argument";
    case kMemoryAllocation:
      return "out of memory";
    case kNoDevice:
      return "no CUDA-capable device is detected";
    case kInvalidDevice:
      return "invalid device ordinal";
    default:
      return "error of the simulated card";
  }
}
