// CUDA driver interface: contexts, modules, kernels, and how the runtime hands out its functions by name.

#include <dlfcn.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "core/export.h"
#include "core/hardware.h"
#include "core/layouts.h"
#include "core/record.h"
#include "core/settings.h"
#include "core/status.h"

namespace memstrata::device {
int32_t DeviceAttribute(int32_t attribute, int32_t device);  // runtime_device.cpp
}

using namespace memstrata::device;

namespace {

void* ContextOf(int32_t device) { return reinterpret_cast<void*>(static_cast<uintptr_t>(device) + 1); }

int32_t NotAnswered() { return kNotSupported; }

// The plain name first, then the newest form: libraries ask for "cuMemCreate" and for "cuCtxGetDevice" alike.
void* FindByName(const char* name) {
  for (const char* suffix : {"", "_v3", "_v2"}) {
    if (void* found = dlsym(RTLD_DEFAULT, (std::string(name) + suffix).c_str())) return found;
  }
  ProcessRecord().CountMissing(name);
  return nullptr;
}

int32_t EntryPoint(const char* name, void** function, int32_t* status) {
  constexpr int32_t kFound = 0;
  void* found = FindByName(name);
  *function = found != nullptr ? found : reinterpret_cast<void*>(&NotAnswered);
  if (status != nullptr) *status = kFound;
  return kSuccess;
}

// A module is its address; the kernels taken from it keep their names here.
const char* KeptName(const char* name) {
  static auto* const names = new std::map<std::string, bool>();
  static auto* const mutex = new std::mutex();
  const std::scoped_lock lock(*mutex);
  return names->emplace(name, true).first->first.c_str();
}

int32_t NewHandle(void** handle) {
  *handle = new char();
  return kSuccess;
}

}  // namespace

MEMSTRATA_ANSWER(int32_t) cudaGetDriverEntryPoint(const char* name, void** function, uint64_t, int32_t* status) {
  return EntryPoint(name, function, status);
}
MEMSTRATA_ANSWER(int32_t)
cudaGetDriverEntryPointByVersion(const char* name, void** function, uint32_t, uint64_t, int32_t* status) {
  return EntryPoint(name, function, status);
}
MEMSTRATA_ANSWER(int32_t) cuGetProcAddress_v2(const char* name, void** function, int32_t, uint64_t, int32_t* status) {
  return EntryPoint(name, function, status);
}

MEMSTRATA_ANSWER(int32_t) cuInit(uint32_t) { return ProcessSettings().device_count > 0 ? kSuccess : kNoDevice; }
MEMSTRATA_ANSWER(int32_t) cuDriverGetVersion(int32_t* version) {
  *version = ProcessSettings().cuda_version;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuDeviceGetCount(int32_t* count) {
  *count = ProcessSettings().device_count;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuDeviceGet(int32_t* device, int32_t ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < ProcessSettings().device_count ? kSuccess : kInvalidDevice;
}
MEMSTRATA_ANSWER(int32_t) cuDeviceGetAttribute(int32_t* value, int32_t attribute, int32_t device) {
  *value = DeviceAttribute(attribute, device);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuDeviceGetName(char* name, int32_t length, int32_t) {
  if (length > 0) std::snprintf(name, static_cast<size_t>(length), "%s", ProcessSettings().card_name.c_str());
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuDeviceTotalMem_v2(size_t* total_bytes, int32_t) {
  *total_bytes = ProcessSettings().capacity_bytes;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuDevicePrimaryCtxGetState(int32_t, uint32_t* flags, int32_t* active) {
  *flags = 0;
  *active = 1;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuDevicePrimaryCtxRetain(void** context, int32_t device) {
  *context = ContextOf(device);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuCtxGetCurrent(void** context) {
  *context = ContextOf(CurrentThread().device);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuCtxGetDevice(int32_t* device) {
  *device = CurrentThread().device;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuCtxSetCurrent(void* context) {
  if (context != nullptr) CurrentThread().device = static_cast<int32_t>(reinterpret_cast<uintptr_t>(context)) - 1;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuGetErrorString(int32_t, const char** text) {
  *text = "error of the simulated card";
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuGetErrorName(int32_t, const char** text) {
  *text = "CUDA_ERROR_UNKNOWN";
  return kSuccess;
}

MEMSTRATA_ANSWER(int32_t) cuModuleLoad(void** module, const char*) { return NewHandle(module); }
MEMSTRATA_ANSWER(int32_t) cuModuleLoadData(void** module, const void*) { return NewHandle(module); }
MEMSTRATA_ANSWER(int32_t) cuModuleLoadDataEx(void** module, const void*, uint32_t, int32_t*, void**) {
  return NewHandle(module);
}
MEMSTRATA_ANSWER(int32_t) cuModuleUnload(void* module) {
  delete static_cast<char*>(module);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuModuleGetFunction(void** function, void*, const char* name) {
  const char* kept = KeptName(name);
  *function = const_cast<char*>(kept);  // a name is as good a handle as any
  ProcessRecord().RegisterKernel(kept, kept);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuLinkCreate_v2(uint32_t, int32_t*, void**, void** state) { return NewHandle(state); }
MEMSTRATA_ANSWER(int32_t) cuLinkComplete(void*, void** cubin, size_t* size_bytes) {
  static char empty[1] = {};
  *cubin = empty;
  *size_bytes = 0;
  return kSuccess;
}

MEMSTRATA_ANSWER(int32_t) cuFuncGetAttribute(int32_t* value, int32_t attribute, void*) {
  switch (attribute) {
    case 0:
      *value = kMaxThreadsPerBlock;
      break;
    case 4:
      *value = 32;
      break;  // registers
    case 5:
    case 6:
      *value = ProcessSettings().kernel_architecture;
      break;  // PTX and binary version
    case 8:
      *value = SharedMemoryOptinBytes(ProcessSettings());
      break;
    default:
      *value = 0;
  }
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t)
cuLaunchKernel(const void* function, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, void*,
               void**, void**) {
  ProcessRecord().CountLaunch(function);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuLaunchKernelEx(const LaunchConfiguration*, const void* function, void**, void**) {
  ProcessRecord().CountLaunch(function);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t)
cuLaunchCooperativeKernel(const void* function, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
                          void*, void**) {
  ProcessRecord().CountLaunch(function);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuCtxGetLimit(size_t* value, int32_t) {
  *value = 0;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuOccupancyMaxActiveClusters(int32_t* count, void*, const LaunchConfiguration*) {
  *count = 1;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t)
cuOccupancyMaxActiveBlocksPerMultiprocessor(int32_t* count, void*, int32_t block_size, size_t) {
  const int32_t by_threads = ProcessSettings().threads_per_multiprocessor / (block_size > 0 ? block_size : 1);
  *count = by_threads < 1 ? 1 : by_threads;
  return kSuccess;
}
