#pragma once
// NVIDIA's devices, through its management library (NVML). The forms of its structures are those of its reference,
// https://docs.nvidia.com/deploy/nvml-api/.

#include "measure/devices/vendor.h"

namespace memstrata::measure {

/// Whole cards, and instead of a card that is partitioned (MIG) its instances. errors: as VendorInfo::open
Result<std::unique_ptr<VendorDevices>> OpenNvml(const std::string& library);

}  // namespace memstrata::measure
