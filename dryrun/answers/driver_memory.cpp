// CUDA driver interface: the virtual memory functions behind expandable segments, and questions about addresses.
// Physical memory is charged by cuMemCreate; an address range costs nothing; mapping joins the two.

#include "core/copies.h"
#include "core/device_memory.h"
#include "core/export.h"
#include "core/host_memory.h"
#include "core/layouts.h"
#include "core/settings.h"
#include "core/status.h"

using namespace memstrata::device;

namespace {

// Physical memory behind a handle; the driver lets a mapping outlive the handle, so it is given back when both are
// gone.
struct Physical {
  uint64_t size_bytes = 0;
  int32_t device = 0;
  uint32_t use_count = 1;
};

class Mappings {
 public:
  int32_t Create(Physical** handle, uint64_t size_bytes, int32_t device) {
    if (!Memory().Charge(device, size_bytes)) return kMemoryAllocation;
    *handle = new Physical{size_bytes, device, 1};
    return kSuccess;
  }
  void Release(Physical* physical) {
    const std::scoped_lock lock(mutex_);
    Drop(physical);
  }
  void Map(uintptr_t address, Physical* physical) {
    const std::scoped_lock lock(mutex_);
    ++physical->use_count;
    mapped_[address] = physical;
    Memory().SetDevice(address, physical->device);
  }
  void Unmap(uintptr_t address, uint64_t size_bytes) {
    const std::scoped_lock lock(mutex_);
    for (auto entry = mapped_.lower_bound(address); entry != mapped_.end() && entry->first < address + size_bytes;) {
      Drop(entry->second);
      entry = mapped_.erase(entry);
    }
  }
  Physical* Retain(uintptr_t address) {
    const std::scoped_lock lock(mutex_);
    const auto found = mapped_.find(address);
    if (found == mapped_.end()) return nullptr;
    ++found->second->use_count;
    return found->second;
  }

 private:
  void Drop(Physical* physical) {
    if (--physical->use_count > 0) return;
    Memory().Discharge(physical->device, physical->size_bytes);
    delete physical;
  }
  std::mutex mutex_;
  std::map<uintptr_t, Physical*> mapped_;
};

Mappings& ProcessMappings() {
  static auto* const mappings = new Mappings();
  return *mappings;
}

}  // namespace

MEMSTRATA_ANSWER(int32_t) cuMemGetAllocationGranularity(size_t* bytes, const AllocationProperties*, int32_t) {
  *bytes = kPageBytes;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuMemAddressReserve(uintptr_t* address, size_t size_bytes, size_t, uintptr_t, uint64_t) {
  *address = Memory().Reserve(size_bytes);
  return *address != 0 ? kSuccess : kMemoryAllocation;
}
MEMSTRATA_ANSWER(int32_t) cuMemAddressFree(uintptr_t address, size_t) {
  return Memory().Unreserve(address) ? kSuccess : kInvalidValue;
}
MEMSTRATA_ANSWER(int32_t)
cuMemCreate(Physical** handle, size_t size_bytes, const AllocationProperties* properties, uint64_t) {
  return ProcessMappings().Create(handle, size_bytes, properties->location_id);
}
MEMSTRATA_ANSWER(int32_t) cuMemRelease(Physical* handle) {
  ProcessMappings().Release(handle);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuMemMap(uintptr_t address, size_t, size_t, Physical* handle, uint64_t) {
  ProcessMappings().Map(address, handle);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuMemUnmap(uintptr_t address, size_t size_bytes) {
  DeviceCopies().Forget(address, size_bytes);
  ProcessMappings().Unmap(address, size_bytes);
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuMemSetAccess(uintptr_t, size_t, const void*, size_t) { return kSuccess; }
MEMSTRATA_ANSWER(int32_t) cuMemRetainAllocationHandle(Physical** handle, void* address) {
  *handle = ProcessMappings().Retain(reinterpret_cast<uintptr_t>(address));
  return *handle != nullptr ? kSuccess : kInvalidValue;
}
MEMSTRATA_ANSWER(int32_t) cuMemGetAllocationPropertiesFromHandle(AllocationProperties* properties, Physical* handle) {
  constexpr int32_t kPinnedType = 1, kDeviceLocation = 1;
  *properties = {};
  properties->type = kPinnedType;
  properties->location_type = kDeviceLocation;
  properties->location_id = handle->device;
  return kSuccess;
}
MEMSTRATA_ANSWER(int32_t) cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  *free_bytes = Memory().FreeBytes(CurrentThread().device);
  *total_bytes = ProcessSettings().capacity_bytes;
  return kSuccess;
}
/// The allocation, or the reserved range, that holds an address.
MEMSTRATA_ANSWER(int32_t) cuMemGetAddressRange_v2(uintptr_t* begin, size_t* size_bytes, uintptr_t address) {
  const auto range = Memory().Find(address);
  if (!range) return kInvalidValue;
  if (begin != nullptr) *begin = range->begin;
  if (size_bytes != nullptr) *size_bytes = range->size_bytes;
  return kSuccess;
}

MEMSTRATA_ANSWER(int32_t) cuPointerGetAttribute(void* value, int32_t attribute, uintptr_t address) {
  constexpr int32_t kContext = 1, kMemoryType = 2, kDevicePointer = 3, kOrdinal = 9, kRangeStart = 11, kRangeSize = 12;
  constexpr uint32_t kHost = 1, kDevice = 2;
  const auto range = Memory().Find(address);
  if (!range && !Host().IsPinned(address)) return kInvalidValue;
  const int32_t device = range ? range->device : CurrentThread().device;
  switch (attribute) {
    case kContext:
      *static_cast<uintptr_t*>(value) = static_cast<uintptr_t>(device) + 1;
      break;
    case kMemoryType:
      *static_cast<uint32_t*>(value) = range ? kDevice : kHost;
      break;
    case kDevicePointer:
      *static_cast<uintptr_t*>(value) = address;
      break;
    case kOrdinal:
      *static_cast<int32_t*>(value) = device;
      break;
    case kRangeStart:
      *static_cast<uintptr_t*>(value) = range ? range->begin : address;
      break;
    case kRangeSize:
      *static_cast<size_t*>(value) = range ? range->size_bytes : 0;
      break;
    default:
      return kNotSupported;
  }
  return kSuccess;
}
