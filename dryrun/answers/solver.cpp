// cuSOLVER, cuSPARSE and cuFFT: handles, and the size of the work area that each routine asks for. The real sizes
// follow from unpublished tables of the libraries, so they are answered as 0: a lower bound that the report states.

#include <cstddef>
#include <cstdint>

#include "core/export.h"
#include "core/handles.h"
#include "core/record.h"

using namespace memstrata::device;

MEMSTRATA_HANDLE_PAIR(cusolverDnCreate, cusolverDnDestroy)
MEMSTRATA_HANDLE_PAIR(cusolverDnCreateParams, cusolverDnDestroyParams)
MEMSTRATA_HANDLE_PAIR(cusolverDnCreateGesvdjInfo, cusolverDnDestroyGesvdjInfo)
MEMSTRATA_HANDLE_PAIR(cusolverDnCreateSyevjInfo, cusolverDnDestroySyevjInfo)
MEMSTRATA_HANDLE_PAIR(cusparseCreate, cusparseDestroy)
MEMSTRATA_HANDLE_PAIR(cusparseCreateMatDescr, cusparseDestroyMatDescr)
MEMSTRATA_HANDLE_PAIR(cusparseSpSV_createDescr, cusparseSpSV_destroyDescr)
MEMSTRATA_HANDLE_PAIR(cusparseSpSM_createDescr, cusparseSpSM_destroyDescr)
MEMSTRATA_HANDLE_PAIR(cusparseSpGEMM_createDescr, cusparseSpGEMM_destroyDescr)

namespace {

using Word = uintptr_t;  // an integer or pointer argument

// Named in the report, which then calls its peak a lower bound (src/dryrun/answer.cpp).
void CountUnknownWorkArea() { ProcessRecord().CountLibraryCall("unknownWorkArea"); }

int32_t SetInt(Word place) {
  CountUnknownWorkArea();
  *reinterpret_cast<int32_t*>(place) = 0;
  return 0;
}
int32_t SetSize(Word place) {
  CountUnknownWorkArea();
  *reinterpret_cast<size_t*>(place) = 0;
  return 0;
}

}  // namespace

// One macro per place of the argument that receives the size; {S,D,C,Z} are the four number formats.
#define MEMSTRATA_SIZE_4(name) \
  MEMSTRATA_ANSWER(int32_t) name(Word, Word, Word, Word size) { return SetInt(size); }
#define MEMSTRATA_SIZE_5(name) \
  MEMSTRATA_ANSWER(int32_t) name(Word, Word, Word, Word, Word size) { return SetInt(size); }
#define MEMSTRATA_SIZE_6(name) \
  MEMSTRATA_ANSWER(int32_t) name(Word, Word, Word, Word, Word, Word size) { return SetInt(size); }
#define MEMSTRATA_SIZE_8(name) \
  MEMSTRATA_ANSWER(int32_t) name(Word, Word, Word, Word, Word, Word, Word, Word size) { return SetInt(size); }
#define MEMSTRATA_SIZE_12(name) \
  MEMSTRATA_ANSWER(int32_t)     \
  name(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word size) { return SetInt(size); }
#define MEMSTRATA_SIZE_13(name) \
  MEMSTRATA_ANSWER(int32_t)     \
  name(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word size) { return SetInt(size); }
#define MEMSTRATA_FORMATS(macro, routine) \
  macro(cusolverDnS##routine) macro(cusolverDnD##routine) macro(cusolverDnC##routine) macro(cusolverDnZ##routine)

MEMSTRATA_FORMATS(MEMSTRATA_SIZE_6, potrf_bufferSize)
MEMSTRATA_FORMATS(MEMSTRATA_SIZE_6, getrf_bufferSize)
MEMSTRATA_FORMATS(MEMSTRATA_SIZE_6, geqrf_bufferSize)
MEMSTRATA_FORMATS(MEMSTRATA_SIZE_4, gesvd_bufferSize)
MEMSTRATA_FORMATS(MEMSTRATA_SIZE_5, sytrf_bufferSize)
MEMSTRATA_FORMATS(MEMSTRATA_SIZE_13, gesvdj_bufferSize)
MEMSTRATA_SIZE_8(cusolverDnSorgqr_bufferSize)
MEMSTRATA_SIZE_8(cusolverDnDorgqr_bufferSize)
MEMSTRATA_SIZE_8(cusolverDnCungqr_bufferSize)
MEMSTRATA_SIZE_8(cusolverDnZungqr_bufferSize)
MEMSTRATA_SIZE_12(cusolverDnSormqr_bufferSize)
MEMSTRATA_SIZE_12(cusolverDnDormqr_bufferSize)
MEMSTRATA_SIZE_12(cusolverDnCunmqr_bufferSize)
MEMSTRATA_SIZE_12(cusolverDnZunmqr_bufferSize)
MEMSTRATA_SIZE_8(cusolverDnSsyevd_bufferSize)
MEMSTRATA_SIZE_8(cusolverDnDsyevd_bufferSize)
MEMSTRATA_SIZE_8(cusolverDnCheevd_bufferSize)
MEMSTRATA_SIZE_8(cusolverDnZheevd_bufferSize)
MEMSTRATA_SIZE_8(cusolverDnSsyevj_bufferSize)
MEMSTRATA_SIZE_8(cusolverDnDsyevj_bufferSize)
MEMSTRATA_SIZE_8(cusolverDnCheevj_bufferSize)
MEMSTRATA_SIZE_8(cusolverDnZheevj_bufferSize)

// The typeless interface gives a size on the device and one on the host, as its last two arguments.
MEMSTRATA_ANSWER(int32_t)
cusolverDnXpotrf_bufferSize(Word, Word, Word, Word, Word, Word, Word, Word, Word device_bytes, Word host_bytes) {
  return SetSize(device_bytes) | SetSize(host_bytes);
}
MEMSTRATA_ANSWER(int32_t)
cusolverDnXgeqrf_bufferSize(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word device_bytes,
                            Word host_bytes) {
  return SetSize(device_bytes) | SetSize(host_bytes);
}
MEMSTRATA_ANSWER(int32_t)
cusolverDnXsyevd_bufferSize(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word device_bytes,
                            Word host_bytes) {
  return SetSize(device_bytes) | SetSize(host_bytes);
}

MEMSTRATA_ANSWER(int32_t) cufftCreate(int32_t* plan) {
  *plan = 1;
  return 0;
}
/// handle, rank, n, inembed, istride, idist, inputtype, onembed, ostride, odist, outputtype, batch, workSize,
/// executiontype
MEMSTRATA_ANSWER(int32_t)
cufftXtMakePlanMany(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word work_bytes, Word) {
  return SetSize(work_bytes);
}
