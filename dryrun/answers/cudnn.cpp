// cuDNN: versions, descriptors that can be read back, and workspaces. Convolution workspaces depend on the algorithm
// that the library would have picked, which nothing here can know: they are 0 unless the settings say otherwise.
// Constants are facts of the public headers cudnn_graph.h and cudnn_ops.h of cuDNN 9.

#include <cstring>

#include "core/export.h"
#include "core/handles.h"
#include "core/record.h"
#include "core/settings.h"

using namespace memstrata::device;

MEMSTRATA_HANDLE_PAIR(cudnnCreate, cudnnDestroy)
MEMSTRATA_HANDLE_PAIR(cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor)
MEMSTRATA_HANDLE_PAIR(cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor)
MEMSTRATA_HANDLE_PAIR(cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor)
MEMSTRATA_HANDLE_PAIR(cudnnCreateActivationDescriptor, cudnnDestroyActivationDescriptor)
MEMSTRATA_HANDLE_PAIR(cudnnCreateDropoutDescriptor, cudnnDestroyDropoutDescriptor)
MEMSTRATA_HANDLE_PAIR(cudnnCreateRNNDescriptor, cudnnDestroyRNNDescriptor)
MEMSTRATA_HANDLE_PAIR(cudnnCreateRNNDataDescriptor, cudnnDestroyRNNDataDescriptor)
MEMSTRATA_HANDLE_PAIR(cudnnCreateCTCLossDescriptor, cudnnDestroyCTCLossDescriptor)
MEMSTRATA_HANDLE_PAIR(cudnnCreatePoolingDescriptor, cudnnDestroyPoolingDescriptor)
MEMSTRATA_HANDLE_PAIR(cudnnCreateSpatialTransformerDescriptor, cudnnDestroySpatialTransformerDescriptor)

MEMSTRATA_ANSWER(size_t) cudnnGetVersion() { return static_cast<size_t>(ProcessSettings().cudnn_version); }
MEMSTRATA_ANSWER(size_t) cudnnGetCudartVersion() { return static_cast<size_t>(ProcessSettings().cuda_version); }
MEMSTRATA_ANSWER(const char*) cudnnGetErrorString(int32_t status) {
  return status == 0 ? "CUDNN_STATUS_SUCCESS" : "the simulated card does not know the size that was asked for";
}
MEMSTRATA_ANSWER(void) cudnnGetLastErrorString(char* text, size_t length) {
  if (length > 0) text[0] = '\0';
}
/// Part 0, 1, 2 of the version: cuDNN 9 writes 9.5.1 as 90501.
MEMSTRATA_ANSWER(int32_t) cudnnGetProperty(int32_t part, int32_t* value) {
  const int32_t version = ProcessSettings().cudnn_version;
  *value = part == 0 ? version / 10000 : part == 1 ? version / 100 % 100 : version % 100;
  return 0;
}
MEMSTRATA_ANSWER(int32_t) cudnnSetStream(Handle* handle, void* stream) {
  handle->stream = stream;
  return 0;
}
MEMSTRATA_ANSWER(int32_t) cudnnGetStream(Handle* handle, void** stream) {
  *stream = handle->stream;
  return 0;
}

/// A matrix product within a graph: of what PyTorch gives to cuDNN, only attention has one.
MEMSTRATA_ANSWER(int32_t) cudnnBackendCreateDescriptor(int32_t type, Handle** descriptor) {
  constexpr int32_t kMatrixProduct = 19;  // CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR
  if (type == kMatrixProduct) ProcessRecord().CountLibraryCall("cudnnBackendOperationMatmul");
  return NewHandle(descriptor);
}
MEMSTRATA_ANSWER(int32_t) cudnnBackendDestroyDescriptor(Handle* descriptor) { return DeleteHandle(descriptor); }
MEMSTRATA_ANSWER(int32_t) cudnnBackendExecute(Handle*, Handle*, Handle*) {
  ProcessRecord().CountLibraryCall("cudnnBackendExecute");
  return 0;
}
/// One engine is offered for everything; its plan needs the workspace of the settings.
MEMSTRATA_ANSWER(int32_t)
cudnnBackendGetAttribute(Handle*, int32_t attribute, int32_t type, int64_t requested_count, int64_t* count,
                         void* values) {
  constexpr int32_t kBackendDescriptorType = 15;
  constexpr int32_t kPlanWorkspaceBytes = 403;
  if (count != nullptr) *count = 1;
  if (values == nullptr || requested_count < 1 || type == kBackendDescriptorType) return 0;
  constexpr size_t kValueBytes = 8;
  if (attribute == kPlanWorkspaceBytes) {
    const auto workspace_bytes = static_cast<int64_t>(ProcessSettings().convolution_workspace_bytes);
    std::memcpy(values, &workspace_bytes, kValueBytes);
  } else {
    std::memset(values, 0, kValueBytes);
  }
  return 0;
}

namespace {
int32_t Size(size_t* bytes, uint64_t value) {
  *bytes = value;
  return 0;
}
}  // namespace

MEMSTRATA_ANSWER(int32_t)
cudnnGetConvolutionForwardWorkspaceSize(Handle*, Handle*, Handle*, Handle*, Handle*, int32_t, size_t* bytes) {
  return Size(bytes, ProcessSettings().convolution_workspace_bytes);
}
MEMSTRATA_ANSWER(int32_t)
cudnnGetConvolutionBackwardDataWorkspaceSize(Handle*, Handle*, Handle*, Handle*, Handle*, int32_t, size_t* bytes) {
  return Size(bytes, ProcessSettings().convolution_workspace_bytes);
}
MEMSTRATA_ANSWER(int32_t)
cudnnGetConvolutionBackwardFilterWorkspaceSize(Handle*, Handle*, Handle*, Handle*, Handle*, int32_t, size_t* bytes) {
  return Size(bytes, ProcessSettings().convolution_workspace_bytes);
}
MEMSTRATA_ANSWER(int32_t)
cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(Handle*, int32_t, int32_t, Handle*, Handle*, Handle*, Handle*,
                                                         Handle*, size_t* bytes) {
  return Size(bytes, 0);
}
MEMSTRATA_ANSWER(int32_t)
cudnnGetBatchNormalizationBackwardExWorkspaceSize(Handle*, int32_t, int32_t, Handle*, Handle*, Handle*, Handle*,
                                                  Handle*, Handle*, Handle*, size_t* bytes) {
  return Size(bytes, 0);
}
MEMSTRATA_ANSWER(int32_t)
cudnnGetBatchNormalizationTrainingExReserveSpaceSize(Handle*, int32_t, int32_t, Handle*, Handle*, size_t* bytes) {
  return Size(bytes, 0);
}
MEMSTRATA_ANSWER(int32_t) cudnnDropoutGetStatesSize(Handle*, size_t* bytes) { return Size(bytes, 0); }
MEMSTRATA_ANSWER(int32_t) cudnnGetCTCLossWorkspaceSize_v8(Handle*, int32_t, Handle*, Handle*, Handle*, size_t* bytes) {
  return Size(bytes, 0);
}
