// What the card says that it cannot do.
//
// Functions of the driver that would need another process, another card or a partition of this one: PyTorch looks each
// of them up at its first use of the driver and stops when one is absent, so they exist.
//
// Functions that tell a size which nothing here can know: a generic success would leave the caller with whatever its
// stack holds, and it would allocate that.

#include "core/export.h"
#include "core/record.h"
#include "core/status.h"

#define MEMSTRATA_REFUSE(name)                              \
  MEMSTRATA_ANSWER(int32_t) name() {                        \
    memstrata::device::ProcessRecord().CountRefused(#name); \
    return memstrata::device::kNotSupported;                \
  }

MEMSTRATA_REFUSE(cuMemExportToShareableHandle)
MEMSTRATA_REFUSE(cuMemImportFromShareableHandle)
MEMSTRATA_REFUSE(cuMulticastAddDevice)
MEMSTRATA_REFUSE(cuMulticastBindMem)
MEMSTRATA_REFUSE(cuMulticastCreate)
MEMSTRATA_REFUSE(cuMulticastUnbind)
MEMSTRATA_REFUSE(cuStreamWriteValue32)
MEMSTRATA_REFUSE(cuStreamWriteValue32_v2)
MEMSTRATA_REFUSE(cuGreenCtxCreate)
MEMSTRATA_REFUSE(cuGreenCtxDestroy)
MEMSTRATA_REFUSE(cuGreenCtxStreamCreate)
MEMSTRATA_REFUSE(cuCtxFromGreenCtx)
MEMSTRATA_REFUSE(cuDevResourceGenerateDesc)
MEMSTRATA_REFUSE(cuDevSmResourceSplitByCount)
MEMSTRATA_REFUSE(cuDeviceGetDevResource)
MEMSTRATA_REFUSE(cuMemAllocManaged)
MEMSTRATA_REFUSE(cudaMallocManaged)
MEMSTRATA_REFUSE(cudaIpcGetMemHandle)
MEMSTRATA_REFUSE(cudaIpcOpenMemHandle)
MEMSTRATA_REFUSE(cudaIpcCloseMemHandle)
MEMSTRATA_REFUSE(cudaIpcGetEventHandle)
MEMSTRATA_REFUSE(cudaIpcOpenEventHandle)

MEMSTRATA_REFUSE(cudnnGetRNNWeightSpaceSize)
MEMSTRATA_REFUSE(cudnnGetRNNTempSpaceSizes)
MEMSTRATA_REFUSE(cudnnGetCTCLossWorkspaceSize)

#define MEMSTRATA_REFUSE_FORMATS(before, after) \
  MEMSTRATA_REFUSE(before##S##after)            \
  MEMSTRATA_REFUSE(before##D##after)            \
  MEMSTRATA_REFUSE(before##C##after)            \
  MEMSTRATA_REFUSE(before##Z##after)
MEMSTRATA_REFUSE_FORMATS(cusolverDn, gesvdaStridedBatched_bufferSize)
MEMSTRATA_REFUSE_FORMATS(cusolverDn, gesvdjBatched_bufferSize)
MEMSTRATA_REFUSE_FORMATS(cusolverDn, syevjBatched_bufferSize)
MEMSTRATA_REFUSE_FORMATS(cusparse, bsrsm2_bufferSize)
MEMSTRATA_REFUSE_FORMATS(cusparse, bsrsv2_bufferSize)
MEMSTRATA_REFUSE_FORMATS(cusparse, csrgeam2_bufferSizeExt)
MEMSTRATA_REFUSE(cusolverDnCheevjBatched_bufferSize)
MEMSTRATA_REFUSE(cusolverDnZheevjBatched_bufferSize)
MEMSTRATA_REFUSE(cusolverDnXgeev_bufferSize)
MEMSTRATA_REFUSE(cusolverDnXsyevBatched_bufferSize)
MEMSTRATA_REFUSE(cusolverDnXsytrs_bufferSize)
MEMSTRATA_REFUSE(cusparseSDDMM_bufferSize)
MEMSTRATA_REFUSE(cusparseSpMM_bufferSize)
MEMSTRATA_REFUSE(cusparseSpMV_bufferSize)
MEMSTRATA_REFUSE(cusparseSpSM_bufferSize)
MEMSTRATA_REFUSE(cusparseSpSV_bufferSize)
MEMSTRATA_REFUSE(cusparseSpGEMM_workEstimation)
MEMSTRATA_REFUSE(cusparseSpMatGetSize)
MEMSTRATA_REFUSE(cusparseXcoosort_bufferSizeExt)
MEMSTRATA_REFUSE(cusparseXcsrsort_bufferSizeExt)
MEMSTRATA_REFUSE(cusparseLtMatmulGetWorkspace)
MEMSTRATA_REFUSE(cusparseLtSpMMACompressedSize2)
