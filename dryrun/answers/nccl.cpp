// NCCL: a communicator of any size in one process, so that one rank of a large job can run alone. Collectives move
// nothing, but where small copies are kept (--shadow), a gather finds that every rank says what this one does: so ranks
// agree on the number and the shapes of their parameters.

#include <cstddef>
#include <cstring>
#include <iterator>

#include "core/copies.h"
#include "core/device_memory.h"
#include "core/export.h"
#include "core/layouts.h"
#include "core/record.h"
#include "core/settings.h"
#include "core/status.h"

using namespace memstrata::device;

namespace {

struct Communicator {
  int32_t rank_count = 1;
  int32_t rank = 0;
};

int32_t NewCommunicator(Communicator** communicator, int32_t rank_count, int32_t rank) {
  *communicator = new Communicator{rank_count, rank};
  return kSuccess;
}

// Of ncclDataType_t, in the order of nccl.h: int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 fp8 fp8.
uint64_t ElementBytes(int32_t type) {
  constexpr uint64_t kSizesBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  const auto index = static_cast<size_t>(type);
  return index < std::size(kSizesBytes) ? kSizesBytes[index] : 1;
}

}  // namespace

MEMSTRATA_ANSWER(int32_t) ncclGetVersion(int32_t* version) {
  *version = ProcessSettings().nccl_version;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) ncclGetUniqueId(UniqueId* id) {
  std::memset(id, 1, sizeof(*id));
  return kSuccess;
}
MEMSTRATA_ANSWER(const char*) ncclGetErrorString(int32_t) { return "answer of the simulated card"; }
MEMSTRATA_ANSWER(const char*) ncclGetLastError(Communicator*) { return ""; }
MEMSTRATA_ANSWER(int32_t) ncclCommInitRank(Communicator** made, int32_t rank_count, UniqueId, int32_t rank) {
  return NewCommunicator(made, rank_count, rank);
}
MEMSTRATA_ANSWER(int32_t)
ncclCommInitRankConfig(Communicator** made, int32_t rank_count, UniqueId, int32_t rank, void*) {
  return NewCommunicator(made, rank_count, rank);
}
MEMSTRATA_ANSWER(int32_t)
ncclCommInitRankScalable(Communicator** made, int32_t rank_count, int32_t rank, int32_t, UniqueId*, void*) {
  return NewCommunicator(made, rank_count, rank);
}
MEMSTRATA_ANSWER(int32_t) ncclCommInitAll(Communicator** made, int32_t device_count, const int32_t*) {
  for (int32_t device = 0; device < device_count; ++device) NewCommunicator(&made[device], device_count, device);
  return kSuccess;
}
/// The size of the part is only known to all ranks together; the parent's is an upper bound, and no memory depends on
/// it.
MEMSTRATA_ANSWER(int32_t) ncclCommSplit(Communicator* parent, int32_t, int32_t key, Communicator** made, void*) {
  return NewCommunicator(made, parent->rank_count, key);
}
MEMSTRATA_ANSWER(int32_t) ncclCommCount(const Communicator* communicator, int32_t* count) {
  *count = communicator->rank_count;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) ncclCommUserRank(const Communicator* communicator, int32_t* rank) {
  *rank = communicator->rank;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) ncclCommGetAsyncError(Communicator*, int32_t* error) {
  *error = kSuccess;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) ncclCommFinalize(Communicator*) { return kSuccess; }
MEMSTRATA_ANSWER(int32_t) ncclCommDestroy(Communicator* communicator) {
  delete communicator;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) ncclCommAbort(Communicator* communicator) { return ncclCommDestroy(communicator); }

MEMSTRATA_ANSWER(int32_t) ncclMemAlloc(void** address, size_t size_bytes) {
  constexpr int32_t kUnhandledCudaError = 1;
  *address = reinterpret_cast<void*>(Memory().Allocate(CurrentThread().device, size_bytes));
  return *address != nullptr ? kSuccess : kUnhandledCudaError;
}
MEMSTRATA_ANSWER(int32_t) ncclMemFree(void* address) {
  Memory().Free(reinterpret_cast<uintptr_t>(address));
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) ncclGroupStart() { return kSuccess; }
MEMSTRATA_ANSWER(int32_t) ncclGroupEnd() { return kSuccess; }

MEMSTRATA_ANSWER(int32_t)
ncclAllGather(const void* own, void* gathered, size_t count, int32_t type, Communicator* communicator, void*) {
  ProcessRecord().CountLibraryCall("ncclAllGather");
  const uint64_t size_bytes = count * ElementBytes(type);
  if (size_bytes > ProcessSettings().shadow_limit_bytes) return kSuccess;
  for (int32_t rank = 0; rank < communicator->rank_count; ++rank) {
    std::byte* part = static_cast<std::byte*>(gathered) + static_cast<uint64_t>(rank) * size_bytes;
    if (part != own) DeviceCopies().Copy(part, own, size_bytes);
  }
  return kSuccess;
}

#define MEMSTRATA_COLLECTIVE(name)           \
  MEMSTRATA_ANSWER(int32_t) name() {         \
    ProcessRecord().CountLibraryCall(#name); \
    return kSuccess;                         \
  }
MEMSTRATA_COLLECTIVE(ncclAllReduce)
MEMSTRATA_COLLECTIVE(ncclReduceScatter)
MEMSTRATA_COLLECTIVE(ncclBroadcast)
MEMSTRATA_COLLECTIVE(ncclBcast)
MEMSTRATA_COLLECTIVE(ncclReduce)
MEMSTRATA_COLLECTIVE(ncclAlltoAll)
MEMSTRATA_COLLECTIVE(ncclGather)
MEMSTRATA_COLLECTIVE(ncclScatter)
MEMSTRATA_COLLECTIVE(ncclSend)
MEMSTRATA_COLLECTIVE(ncclRecv)
