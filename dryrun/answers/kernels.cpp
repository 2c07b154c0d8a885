// Kernels: what the compiler's start-up code registers, and every way to launch one. A launch only counts.

#include <vector>

#include "core/export.h"
#include "core/hardware.h"
#include "core/layouts.h"
#include "core/record.h"
#include "core/settings.h"
#include "core/status.h"

using namespace memstrata::device;

namespace {

struct CallConfiguration {
  Dim3 grid, block;
  size_t shared_bytes;
  void* stream;
};

std::vector<CallConfiguration>& PushedConfigurations() {
  thread_local std::vector<CallConfiguration> pushed;
  return pushed;
}

int32_t Launch(const void* function) {
  ProcessRecord().CountLaunch(function);
  return kSuccess;
}

}  // namespace

MEMSTRATA_ANSWER(void**) __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;  // its address is the handle; nothing is kept behind it
  return &handle;
}
MEMSTRATA_ANSWER(void) __cudaRegisterFatBinaryEnd(void**) {}
MEMSTRATA_ANSWER(void) __cudaUnregisterFatBinary(void**) {}
MEMSTRATA_ANSWER(char) __cudaInitModule(void**) { return 0; }
MEMSTRATA_ANSWER(void)
__cudaRegisterFunction(void**, const void* function, char*, const char* name, int32_t, void*, void*, void*, void*,
                       int32_t*) {
  ProcessRecord().RegisterKernel(function, name);
}
MEMSTRATA_ANSWER(void) __cudaRegisterVar(void**, char*, char*, const char*, int32_t, size_t, int32_t, int32_t) {}

MEMSTRATA_ANSWER(uint32_t) __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared_bytes, void* stream) {
  PushedConfigurations().push_back({grid, block, shared_bytes, stream});
  return 0;
}
MEMSTRATA_ANSWER(int32_t) __cudaPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared_bytes, void** stream) {
  if (PushedConfigurations().empty()) return Remember(kInvalidValue);
  const CallConfiguration top = PushedConfigurations().back();
  PushedConfigurations().pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *stream = top.stream;
  return kSuccess;
}
/// CUDA 13: a kernel handle; ours is the host function itself.
MEMSTRATA_ANSWER(int32_t) __cudaGetKernel(const void** kernel, const void* function) {
  *kernel = function;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) __cudaLaunchKernel(const void* kernel, Dim3, Dim3, void**, size_t, void*) {
  return Launch(kernel);
}
MEMSTRATA_ANSWER(int32_t) cudaLaunchKernel(const void* function, Dim3, Dim3, void**, size_t, void*) {
  return Launch(function);
}
MEMSTRATA_ANSWER(int32_t) cudaLaunchCooperativeKernel(const void* function, Dim3, Dim3, void**, size_t, void*) {
  return Launch(function);
}
MEMSTRATA_ANSWER(int32_t) cudaLaunchKernelExC(const LaunchConfiguration*, const void* function, void**) {
  return Launch(function);
}

MEMSTRATA_ANSWER(int32_t) cudaFuncGetAttributes(FunctionAttributes* attributes, const void*) {
  *attributes = {};
  attributes->max_threads_per_block = kMaxThreadsPerBlock;
  attributes->register_count = 32;
  attributes->ptx_version = ProcessSettings().kernel_architecture;
  attributes->binary_version = ProcessSettings().kernel_architecture;
  attributes->max_dynamic_shared_bytes = SharedMemoryOptinBytes(ProcessSettings());
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t)
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int32_t* block_count, const void*, int32_t block_size, size_t) {
  const int32_t by_threads = ProcessSettings().threads_per_multiprocessor / (block_size > 0 ? block_size : 1);
  *block_count = by_threads < 1 ? 1 : by_threads;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t)
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int32_t* block_count, const void* function, int32_t block_size,
                                                       size_t shared_bytes, uint32_t) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(block_count, function, block_size, shared_bytes);
}
/// A variable on the device: only its address is used, so its stand-in on the host will do.
MEMSTRATA_ANSWER(int32_t) cudaGetSymbolAddress(const void** address, const void* symbol) {
  *address = symbol;
  return kSuccess;
}
