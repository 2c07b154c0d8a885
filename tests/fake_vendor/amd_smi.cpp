// A management library of AMD that says what a file says (fake_state.h): one socket, its cards.

#include <cstdio>

#include "fake_state.h"

namespace {

constexpr int kSuccess = 0, kFails = 1;
constexpr int kVideoMemory = 0;

const fake::Device& DeviceOf(void* handle) { return fake::ReadDevices().at(reinterpret_cast<uintptr_t>(handle) - 1); }

}  // namespace

extern "C" {

int amdsmi_init(uint64_t flags) { return flags == 2 ? kSuccess : kFails; }
int amdsmi_shut_down() { return kSuccess; }
int amdsmi_get_socket_handles(uint32_t* count, void** handles) {
  if (handles != nullptr) handles[0] = &handles;
  *count = 1;
  return kSuccess;
}
int amdsmi_get_processor_handles(void*, uint32_t* count, void** handles) {
  *count = static_cast<uint32_t>(fake::ReadDevices().size());
  for (uint32_t i = 0; handles != nullptr && i < *count; ++i)
    handles[i] = reinterpret_cast<void*>(static_cast<uintptr_t>(i) + 1);
  return kSuccess;
}
int amdsmi_get_gpu_memory_total(void* handle, int type, uint64_t* bytes) {
  *bytes = DeviceOf(handle).total_bytes;
  return type == kVideoMemory ? kSuccess : kFails;
}
int amdsmi_get_gpu_memory_usage(void* handle, int type, uint64_t* bytes) {
  *bytes = DeviceOf(handle).used_bytes;
  return type == kVideoMemory ? kSuccess : kFails;
}
int amdsmi_get_gpu_device_uuid(void* handle, unsigned* length, char* text) {
  *length = static_cast<unsigned>(std::snprintf(text, *length, "amd-%zu", reinterpret_cast<size_t>(handle)));
  return kSuccess;
}
int amdsmi_get_gpu_bdf_id(void* handle, uint64_t* place) {
  *place = reinterpret_cast<uint64_t>(handle) << 8;
  return kSuccess;
}
}
