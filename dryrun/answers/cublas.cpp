// cuBLAS and cuBLASLt: handles with what can be read back from them, and one algorithm without a workspace of its own.
// (The workspace that PyTorch gives to cuBLAS comes from PyTorch's own allocator.) Products only count.

#include "core/export.h"
#include "core/handles.h"
#include "core/layouts.h"
#include "core/record.h"
#include "core/settings.h"

using namespace memstrata::device;

namespace {

// cuBLAS writes its version as major * 10000 + minor * 100; its major and minor follow the toolkit's.
int32_t LibraryVersion() {
  const int32_t cuda = ProcessSettings().cuda_version;
  return cuda / 1000 * 10000 + cuda % 1000 / 10 * 100;
}

}  // namespace

MEMSTRATA_HANDLE_PAIR(cublasCreate_v2, cublasDestroy_v2)
MEMSTRATA_HANDLE_PAIR(cublasLtCreate, cublasLtDestroy)
MEMSTRATA_HANDLE_PAIR(cublasLtMatmulPreferenceCreate, cublasLtMatmulPreferenceDestroy)

MEMSTRATA_ANSWER(int32_t) cublasGetVersion_v2(Handle*, int32_t* version) {
  *version = LibraryVersion();
  return 0;
}
MEMSTRATA_ANSWER(int32_t) cublasSetStream_v2(Handle* handle, void* stream) {
  handle->stream = stream;
  return 0;
}
MEMSTRATA_ANSWER(int32_t) cublasGetStream_v2(Handle* handle, void** stream) {
  *stream = handle->stream;
  return 0;
}
MEMSTRATA_ANSWER(int32_t) cublasSetMathMode(Handle* handle, int32_t mode) {
  handle->math_mode = mode;
  return 0;
}
MEMSTRATA_ANSWER(int32_t) cublasGetMathMode(Handle* handle, int32_t* mode) {
  *mode = handle->math_mode;
  return 0;
}
MEMSTRATA_ANSWER(int32_t) cublasSetPointerMode_v2(Handle* handle, int32_t mode) {
  handle->pointer_mode = mode;
  return 0;
}
MEMSTRATA_ANSWER(int32_t) cublasGetPointerMode_v2(Handle* handle, int32_t* mode) {
  *mode = handle->pointer_mode;
  return 0;
}

MEMSTRATA_ANSWER(size_t) cublasLtGetVersion() { return static_cast<size_t>(LibraryVersion()); }
MEMSTRATA_ANSWER(size_t) cublasLtGetCudartVersion() { return static_cast<size_t>(ProcessSettings().cuda_version); }
MEMSTRATA_ANSWER(int32_t) cublasLtMatmulDescCreate(Handle** descriptor, int32_t, int32_t) {
  return NewHandle(descriptor);
}
MEMSTRATA_ANSWER(int32_t) cublasLtMatmulDescDestroy(Handle* descriptor) { return DeleteHandle(descriptor); }
MEMSTRATA_ANSWER(int32_t) cublasLtMatrixLayoutCreate(Handle** layout, int32_t, uint64_t, uint64_t, int64_t) {
  return NewHandle(layout);
}
MEMSTRATA_ANSWER(int32_t) cublasLtMatrixLayoutDestroy(Handle* layout) { return DeleteHandle(layout); }
MEMSTRATA_ANSWER(int32_t)
cublasLtMatmulAlgoGetHeuristic(Handle*, Handle*, Handle*, Handle*, Handle*, Handle*, Handle*, int32_t requested_count,
                               HeuristicResult* results, int32_t* result_count) {
  *result_count = requested_count < 1 ? requested_count : 1;
  if (*result_count == 1) results[0] = {};
  return 0;
}

// Every product that PyTorch asks for; the arguments do not matter, so none are named.
#define MEMSTRATA_PRODUCT(name)              \
  MEMSTRATA_ANSWER(int32_t) name() {         \
    ProcessRecord().CountLibraryCall(#name); \
    return 0;                                \
  }
MEMSTRATA_PRODUCT(cublasLtMatmul)
MEMSTRATA_PRODUCT(cublasSgemm_v2)
MEMSTRATA_PRODUCT(cublasDgemm_v2)
MEMSTRATA_PRODUCT(cublasCgemm_v2)
MEMSTRATA_PRODUCT(cublasZgemm_v2)
MEMSTRATA_PRODUCT(cublasSgemmEx)
MEMSTRATA_PRODUCT(cublasGemmEx)
MEMSTRATA_PRODUCT(cublasSgemmStridedBatched)
MEMSTRATA_PRODUCT(cublasDgemmStridedBatched)
MEMSTRATA_PRODUCT(cublasCgemmStridedBatched)
MEMSTRATA_PRODUCT(cublasZgemmStridedBatched)
MEMSTRATA_PRODUCT(cublasGemmStridedBatchedEx)
MEMSTRATA_PRODUCT(cublasSgemmBatched)
MEMSTRATA_PRODUCT(cublasDgemmBatched)
MEMSTRATA_PRODUCT(cublasSgemv_v2)
MEMSTRATA_PRODUCT(cublasDgemv_v2)
MEMSTRATA_PRODUCT(cublasSdot_v2)
MEMSTRATA_PRODUCT(cublasDdot_v2)
MEMSTRATA_PRODUCT(cublasDotEx)
