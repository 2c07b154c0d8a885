// A management library of NVIDIA that says what a file says (fake_state.h). A handle is 1 + device, and for an instance
// of a partitioned card 1000 * (1 + device) + instance. The structures are those of NVIDIA's reference.

#include <cstdio>
#include <cstring>

#include "fake_state.h"

namespace {

constexpr int kSuccess = 0, kNotSupported = 3, kInsufficientSize = 7, kGpuIsLost = 15;

struct Memory {
  unsigned long long total_bytes, free_bytes, used_bytes;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total_bytes, reserved_bytes, free_bytes, used_bytes;
};
struct Process {
  unsigned process_id;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

const fake::Device& DeviceOf(void* handle) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  const std::vector<fake::Device>& devices = fake::ReadDevices();
  return number >= 1000 ? devices.at(number / 1000 - 1).instances.at(number % 1000) : devices.at(number - 1);
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return std::getenv("FAKE_NVML_FAILS") != nullptr ? 9 : kSuccess; }
int nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(int) { return "Driver Not Loaded"; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(fake::ReadDevices().size());
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  *handle = reinterpret_cast<void*>(static_cast<uintptr_t>(index) + 1);
  return kSuccess;
}
int nvmlDeviceGetMemoryInfo(void* handle, Memory* memory) {
  const fake::Device& device = DeviceOf(handle);
  if (device.is_broken) return kGpuIsLost;
  if (device.is_unified) return kNotSupported;
  const unsigned long long used = device.reserved_bytes + device.used_bytes;
  *memory = {device.total_bytes, device.total_bytes - used, used};
  return kSuccess;
}
int nvmlDeviceGetMemoryInfo_v2(void* handle, MemoryV2* memory) {
  const fake::Device& device = DeviceOf(handle);
  if (device.is_broken) return kGpuIsLost;
  if (device.is_unified) return kNotSupported;
  if (memory->version != (sizeof(MemoryV2) | 2U << 24)) return 25;  // argument version mismatch
  memory->total_bytes = device.total_bytes;
  memory->reserved_bytes = device.reserved_bytes;
  memory->used_bytes = device.used_bytes;
  memory->free_bytes = device.total_bytes - device.reserved_bytes - device.used_bytes;
  return kSuccess;
}
int nvmlDeviceGetName(void* handle, char* text, unsigned length) {
  std::snprintf(text, length, "%s", DeviceOf(handle).name.c_str());
  return kSuccess;
}
int nvmlDeviceGetUUID(void* handle, char* text, unsigned length) {
  std::snprintf(text, length, "GPU-fake-%zu", reinterpret_cast<size_t>(handle));
  return kSuccess;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count, Process* processes) {
  const fake::Device& device = DeviceOf(handle);
  const unsigned room = *count;
  *count = static_cast<unsigned>(device.processes.size());
  if (room < *count) return kInsufficientSize;
  for (size_t i = 0; i < device.processes.size(); ++i)
    processes[i] = {device.processes[i].process_id, device.processes[i].used_bytes, 0, 0};
  return kSuccess;
}
// A process that computes may draw as well: it is then on both lists and counts once.
int nvmlDeviceGetGraphicsRunningProcesses_v3(void* handle, unsigned* count, Process* processes) {
  return nvmlDeviceGetComputeRunningProcesses_v3(handle, count, processes);
}
int nvmlDeviceGetMigMode(void* handle, unsigned* current, unsigned* pending) {
  *current = *pending = DeviceOf(handle).instances.empty() ? 0 : 1;
  return kSuccess;
}
int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* count) {
  *count = 7;
  return kSuccess;
}
int nvmlDeviceGetMigDeviceHandleByIndex(void* card, unsigned index, void** handle) {
  const auto number = reinterpret_cast<uintptr_t>(card);
  if (index >= DeviceOf(card).instances.size()) return kNotSupported;
  *handle = reinterpret_cast<void*>(number * 1000 + index);
  return kSuccess;
}
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::snprintf(text, length, "999.1");
  return kSuccess;
}
int nvmlDeviceGetNumaNodeId(void* handle, unsigned* node) {
  *node = 1;
  return DeviceOf(handle).is_host_node ? kSuccess : kNotSupported;
}
int nvmlDeviceGetTopologyCommonAncestor(void*, void*, int* level) {
  *level = 40;
  return kSuccess;
}
}
