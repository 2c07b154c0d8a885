#pragma once
// Result codes of the runtime and the driver interface (public header driver_types.h of CUDA 12.6). Success is 0 in all
// of the vendor's libraries.

#include <cstdint>

namespace memstrata::device {

enum CudaStatus : int32_t {
  kSuccess = 0,
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidResourceHandle = 400,
  kSymbolNotFound = 500,
  kPeerAccessAlreadyEnabled = 704,
  kNotSupported = 801,
};

/// What the current thread uses and last got; every runtime call that fails leaves its code here.
struct ThreadState {
  int32_t device = 0;
  int32_t last_error = kSuccess;
  int32_t capture_mode = 0;
};
ThreadState& CurrentThread();

/// Keeps a failure for cudaGetLastError and gives it back.
int32_t Remember(int32_t status);

}  // namespace memstrata::device
