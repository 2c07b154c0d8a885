// Functions whose whole effect on a card that computes nothing is to succeed. They are listed, not left to the generic
// answer, because we know that success is the right one: each either waits for work that is complete, sets something
// that nothing reads, or computes values. Functions that are in none of these files are answered too, but named in the
// report.

#include <cstdint>

#include "core/export.h"

#define MEMSTRATA_SUCCEED(name) \
  MEMSTRATA_ANSWER(int32_t) name() { return 0; }

// Runtime: waiting and settings.
MEMSTRATA_SUCCEED(cudaDeviceSynchronize)
MEMSTRATA_SUCCEED(cudaStreamSynchronize)
MEMSTRATA_SUCCEED(cudaStreamQuery)
MEMSTRATA_SUCCEED(cudaEventQuery)
MEMSTRATA_SUCCEED(cudaEventSynchronize)
MEMSTRATA_SUCCEED(cudaDeviceEnablePeerAccess)
MEMSTRATA_SUCCEED(cudaFuncSetAttribute)
MEMSTRATA_SUCCEED(cudaFuncSetCacheConfig)
MEMSTRATA_SUCCEED(cudaGraphLaunch)
MEMSTRATA_SUCCEED(cudaGraphDebugDotPrint)
MEMSTRATA_SUCCEED(cudaMemPoolSetAttribute)
MEMSTRATA_SUCCEED(cudaMemPoolSetAccess)
MEMSTRATA_SUCCEED(cudaMemPoolTrimTo)
MEMSTRATA_SUCCEED(cudaMemcpyToSymbol)
MEMSTRATA_SUCCEED(cudaProfilerStart)
MEMSTRATA_SUCCEED(cudaProfilerStop)
// Driver.
MEMSTRATA_SUCCEED(cuCtxSetLimit)
MEMSTRATA_SUCCEED(cuCtxSynchronize)
MEMSTRATA_SUCCEED(cuCtxPushCurrent_v2)
MEMSTRATA_SUCCEED(cuCtxPopCurrent_v2)
MEMSTRATA_SUCCEED(cuFuncSetAttribute)
MEMSTRATA_SUCCEED(cuFuncSetCacheConfig)
MEMSTRATA_SUCCEED(cuLinkAddData_v2)
MEMSTRATA_SUCCEED(cuLogsRegisterCallback)
MEMSTRATA_SUCCEED(cuLogsUnregisterCallback)
MEMSTRATA_SUCCEED(cuMemsetD32Async)
MEMSTRATA_SUCCEED(cuStreamSynchronize)
MEMSTRATA_SUCCEED(cuTensorMapEncodeTiled)
// cuBLAS.
MEMSTRATA_SUCCEED(cublasSetWorkspace_v2)
MEMSTRATA_SUCCEED(cublasLtMatmulDescSetAttribute)
MEMSTRATA_SUCCEED(cublasLtMatmulPreferenceSetAttribute)
MEMSTRATA_SUCCEED(cublasLtMatrixLayoutSetAttribute)
// cuDNN.
MEMSTRATA_SUCCEED(cudnnBackendFinalize)
MEMSTRATA_SUCCEED(cudnnBackendSetAttribute)
MEMSTRATA_SUCCEED(cudnnSetTensorNdDescriptor)
MEMSTRATA_SUCCEED(cudnnSetFilterNdDescriptor)
MEMSTRATA_SUCCEED(cudnnSetConvolutionNdDescriptor)
MEMSTRATA_SUCCEED(cudnnSetConvolutionGroupCount)
MEMSTRATA_SUCCEED(cudnnSetConvolutionMathType)
MEMSTRATA_SUCCEED(cudnnSetActivationDescriptor)
MEMSTRATA_SUCCEED(cudnnConvolutionForward)
MEMSTRATA_SUCCEED(cudnnConvolutionBackwardData)
MEMSTRATA_SUCCEED(cudnnConvolutionBackwardFilter)
MEMSTRATA_SUCCEED(cudnnConvolutionBiasActivationForward)
MEMSTRATA_SUCCEED(cudnnBatchNormalizationForwardTrainingEx)
MEMSTRATA_SUCCEED(cudnnBatchNormalizationForwardInference)
MEMSTRATA_SUCCEED(cudnnBatchNormalizationBackwardEx)
// cuSOLVER, cuFFT: settings.
MEMSTRATA_SUCCEED(cusolverDnSetStream)
MEMSTRATA_SUCCEED(cusparseSetStream)
MEMSTRATA_SUCCEED(cufftSetStream)
MEMSTRATA_SUCCEED(cufftSetAutoAllocation)
MEMSTRATA_SUCCEED(cufftSetWorkArea)
MEMSTRATA_SUCCEED(cufftDestroy)
MEMSTRATA_SUCCEED(cufftXtExec)
// NCCL: registration of buffers.
MEMSTRATA_SUCCEED(ncclCommRegister)
MEMSTRATA_SUCCEED(ncclCommDeregister)
MEMSTRATA_SUCCEED(ncclRedOpDestroy)
