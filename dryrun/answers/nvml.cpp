// NVML: what management libraries ask. Handles are device numbers plus one.

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "core/export.h"
#include "core/hardware.h"
#include "core/settings.h"
#include "core/shared_use.h"
#include "core/status.h"

using namespace memstrata::device;

namespace {

constexpr int32_t kInvalidArgument = 2;
constexpr int32_t kNvmlNotSupported = 3;
constexpr int32_t kInsufficientSize = 7;

struct MemoryInfo {  // nvmlMemory_t
  uint64_t total_bytes, free_bytes, used_bytes;
};
struct ProcessInfo {  // nvmlProcessInfo_t of the second and third form
  uint32_t process_id;
  uint64_t used_bytes;
  uint32_t gpu_instance, compute_instance;
};

int32_t DeviceOf(const void* handle) { return static_cast<int32_t>(reinterpret_cast<uintptr_t>(handle)) - 1; }

int32_t HandleOf(int32_t device, void** handle) {
  if (device < 0 || device >= ProcessSettings().device_count) return kInvalidArgument;
  *handle = reinterpret_cast<void*>(static_cast<uintptr_t>(device) + 1);
  return kSuccess;
}

}  // namespace

MEMSTRATA_ANSWER(int32_t) nvmlInit_v2() { return kSuccess; }
MEMSTRATA_ANSWER(int32_t) nvmlInit() { return kSuccess; }
MEMSTRATA_ANSWER(int32_t) nvmlInitWithFlags(uint32_t) { return kSuccess; }
MEMSTRATA_ANSWER(int32_t) nvmlShutdown() { return kSuccess; }
MEMSTRATA_ANSWER(const char*) nvmlErrorString(int32_t) { return "error of the simulated card"; }
MEMSTRATA_ANSWER(int32_t) nvmlDeviceGetCount_v2(uint32_t* count) {
  *count = static_cast<uint32_t>(ProcessSettings().device_count);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) nvmlDeviceGetHandleByIndex_v2(uint32_t index, void** handle) {
  return HandleOf(static_cast<int32_t>(index), handle);
}
MEMSTRATA_ANSWER(int32_t) nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** handle) {
  uint32_t domain = 0, bus = 0;
  if (std::sscanf(bus_id, "%x:%x:", &domain, &bus) != 2) return kInvalidArgument;
  return HandleOf(static_cast<int32_t>(bus) - kPciBus, handle);
}
MEMSTRATA_ANSWER(int32_t) nvmlDeviceGetMemoryInfo(void* handle, MemoryInfo* info) {
  info->total_bytes = ProcessSettings().capacity_bytes;
  uint64_t used_bytes = 0;
  for (const ProcessUse& user : UsersOf(DeviceOf(handle))) used_bytes += user.used_bytes;
  info->used_bytes = std::min(used_bytes, info->total_bytes);
  info->free_bytes = info->total_bytes - info->used_bytes;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t)
nvmlDeviceGetComputeRunningProcesses_v3(void* handle, uint32_t* count, ProcessInfo* processes) {
  const std::vector<ProcessUse> users = UsersOf(DeviceOf(handle));
  const bool has_room = *count >= users.size() && (processes != nullptr || users.empty());
  *count = static_cast<uint32_t>(users.size());
  if (!has_room) return kInsufficientSize;
  for (size_t i = 0; i < users.size(); ++i)
    processes[i] = {static_cast<uint32_t>(users[i].process_id), users[i].used_bytes, UINT32_MAX, UINT32_MAX};
  return kSuccess;
}
/// The first form of the structure ends before the instances.
MEMSTRATA_ANSWER(int32_t) nvmlDeviceGetComputeRunningProcesses(void* handle, uint32_t* count, void* processes) {
  struct FirstForm {
    uint32_t process_id;
    uint64_t used_bytes;
  };
  const std::vector<ProcessUse> users = UsersOf(DeviceOf(handle));
  const bool has_room = *count >= users.size() && (processes != nullptr || users.empty());
  *count = static_cast<uint32_t>(users.size());
  if (!has_room) return kInsufficientSize;
  for (size_t i = 0; i < users.size(); ++i) {
    const FirstForm first = {static_cast<uint32_t>(users[i].process_id), users[i].used_bytes};
    std::memcpy(static_cast<FirstForm*>(processes) + i, &first, sizeof(first));
  }
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) nvmlSystemGetCudaDriverVersion_v2(int32_t* version) {
  *version = ProcessSettings().cuda_version;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) nvmlSystemGetDriverVersion(char* text, uint32_t length) {
  std::snprintf(text, length, "simulated");
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) nvmlDeviceGetName(void*, char* name, uint32_t length) {
  std::snprintf(name, length, "%s", ProcessSettings().card_name.c_str());
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) nvmlDeviceGetUUID(void* handle, char* text, uint32_t length) {
  // The same bytes as in the properties that the runtime gives: the device plus one, first byte first.
  std::snprintf(text, length, "GPU-%02x000000-0000-0000-0000-000000000000",
                static_cast<uint32_t>(DeviceOf(handle) + 1) & 0xff);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) nvmlDeviceGetNvLinkRemoteDeviceType(void*, uint32_t, int32_t*) { return kNvmlNotSupported; }
MEMSTRATA_ANSWER(int32_t) nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, uint32_t, void*) { return kNvmlNotSupported; }
MEMSTRATA_ANSWER(int32_t) nvmlDeviceGetGpuFabricInfoV(void*, void*) { return kNvmlNotSupported; }
