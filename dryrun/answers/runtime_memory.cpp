// CUDA runtime: memory of the card and of the host, and copies between them.

#include <cstring>

#include "core/copies.h"
#include "core/device_memory.h"
#include "core/export.h"
#include "core/host_memory.h"
#include "core/layouts.h"
#include "core/settings.h"
#include "core/status.h"

using namespace memstrata::device;

namespace {

int32_t AllocateOnCurrent(void** address, size_t size_bytes) {
  *address = reinterpret_cast<void*>(Memory().Allocate(CurrentThread().device, size_bytes));
  return *address != nullptr ? kSuccess : Remember(kMemoryAllocation);
}

int32_t FreeOnDevice(void* address) {
  if (address == nullptr) return kSuccess;
  const auto begin = reinterpret_cast<uintptr_t>(address);
  if (const auto range = Memory().Find(begin)) DeviceCopies().Forget(begin, range->size_bytes);
  return Memory().Free(begin) ? kSuccess : Remember(kInvalidValue);
}

}  // namespace

MEMSTRATA_ANSWER(int32_t) cudaMalloc(void** address, size_t size_bytes) {
  if (size_bytes == 0) {
    *address = nullptr;
    return kSuccess;
  }
  return AllocateOnCurrent(address, size_bytes);
}
MEMSTRATA_ANSWER(int32_t) cudaFree(void* address) { return FreeOnDevice(address); }
MEMSTRATA_ANSWER(int32_t) cudaMallocAsync(void** address, size_t size_bytes, void*) {
  return AllocateOnCurrent(address, size_bytes);
}
MEMSTRATA_ANSWER(int32_t) cudaFreeAsync(void* address, void*) { return FreeOnDevice(address); }

MEMSTRATA_ANSWER(int32_t) cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  *free_bytes = Memory().FreeBytes(CurrentThread().device);
  *total_bytes = ProcessSettings().capacity_bytes;
  return kSuccess;
}

MEMSTRATA_ANSWER(int32_t) cudaHostAlloc(void** address, size_t size_bytes, uint32_t) {
  *address = Host().Allocate(size_bytes);
  return *address != nullptr ? kSuccess : Remember(kMemoryAllocation);
}
MEMSTRATA_ANSWER(int32_t) cudaMallocHost(void** address, size_t size_bytes) {
  return cudaHostAlloc(address, size_bytes, 0);
}
MEMSTRATA_ANSWER(int32_t) cudaFreeHost(void* address) {
  return address == nullptr || Host().Free(address) ? kSuccess : Remember(kInvalidValue);
}
MEMSTRATA_ANSWER(int32_t) cudaHostRegister(void* address, size_t size_bytes, uint32_t) {
  Host().Register(address, size_bytes);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cudaHostUnregister(void* address) {
  return Host().Unregister(address) ? kSuccess : Remember(kInvalidValue);
}
MEMSTRATA_ANSWER(int32_t) cudaHostGetDevicePointer(void** device_address, void* address, uint32_t) {
  *device_address = address;
  return kSuccess;
}

MEMSTRATA_ANSWER(int32_t) cudaPointerGetAttributes(PointerAttributes* attributes, const void* address) {
  const bool is_13 = ProcessSettings().cuda_version >= 13000;
  std::memset(attributes, 0, is_13 ? kPointerAttributes13Bytes : sizeof(PointerAttributes));
  const auto place = reinterpret_cast<uintptr_t>(address);
  attributes->type = kPageableMemory;
  attributes->device = -1;
  if (const auto range = Memory().Find(place)) {
    attributes->type = kOnDeviceMemory;
    attributes->device = range->device;
    attributes->device_pointer = address;
  } else if (Host().IsPinned(place)) {
    attributes->type = kPinnedMemory;
    attributes->device = CurrentThread().device;
    attributes->device_pointer = address;
    attributes->host_pointer = address;
  }
  return kSuccess;
}

MEMSTRATA_ANSWER(int32_t) cudaMemcpy(void* target, const void* source, size_t size_bytes, int32_t) {
  DeviceCopies().Copy(target, source, size_bytes);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cudaMemcpyAsync(void* target, const void* source, size_t size_bytes, int32_t, void*) {
  DeviceCopies().Copy(target, source, size_bytes);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t)
cudaMemcpyPeerAsync(void* target, int32_t, const void* source, int32_t, size_t size_bytes, void*) {
  DeviceCopies().Copy(target, source, size_bytes);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t)
cudaMemcpy2DAsync(void* target, size_t target_pitch, const void* source, size_t source_pitch, size_t width_bytes,
                  size_t height, int32_t, void*) {
  for (size_t row = 0; row < height; ++row) {
    DeviceCopies().Copy(static_cast<char*>(target) + row * target_pitch,
                        static_cast<const char*>(source) + row * source_pitch, width_bytes);
  }
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cudaMemset(void* target, int32_t value, size_t size_bytes) {
  DeviceCopies().Set(target, value, size_bytes);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cudaMemsetAsync(void* target, int32_t value, size_t size_bytes, void*) {
  DeviceCopies().Set(target, value, size_bytes);
  return kSuccess;
}

// Pools of the asynchronous allocator: one per device, named by the device's number plus one.
MEMSTRATA_ANSWER(int32_t) cudaDeviceGetDefaultMemPool(void** pool, int32_t device) {
  *pool = reinterpret_cast<void*>(static_cast<uintptr_t>(device) + 1);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cudaMemPoolGetAttribute(void* pool, int32_t attribute, void* value) {
  const Usage usage = Memory().UsageOf(static_cast<int32_t>(reinterpret_cast<uintptr_t>(pool)) - 1);
  constexpr int32_t kFirstSizeAttribute = 4;  // below are switches, as an int
  constexpr int32_t kReservedCurrent = 5, kReservedHigh = 6, kUsedCurrent = 7, kUsedHigh = 8;
  if (attribute < kFirstSizeAttribute) {
    *static_cast<int32_t*>(value) = 0;
  } else if (attribute == kReservedCurrent || attribute == kUsedCurrent) {
    *static_cast<uint64_t*>(value) = usage.used_bytes;
  } else if (attribute == kReservedHigh || attribute == kUsedHigh) {
    *static_cast<uint64_t*>(value) = usage.peak_bytes;
  } else {
    *static_cast<uint64_t*>(value) = 0;
  }
  return kSuccess;
}
