// Functions of the driver that would need another process, another card or a partition of this one. PyTorch looks each
// of them up at its first use of the driver and stops when one is absent, so they exist, and say that they do nothing.

#include "core/export.h"
#include "core/record.h"
#include "core/status.h"

#define MEMSTRATA_REFUSE(name)                              \
  MEMSTRATA_ANSWER(int32_t) name() {                        \
    memstrata::device::ProcessRecord().CountMissing(#name); \
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
MEMSTRATA_REFUSE(cudaIpcGetMemHandle)
MEMSTRATA_REFUSE(cudaIpcOpenMemHandle)
MEMSTRATA_REFUSE(cudaIpcCloseMemHandle)
MEMSTRATA_REFUSE(cudaIpcGetEventHandle)
MEMSTRATA_REFUSE(cudaIpcOpenEventHandle)
