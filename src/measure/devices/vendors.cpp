#include <cstdlib>

#include "measure/devices/amd_smi.h"
#include "measure/devices/nvml.h"

namespace memstrata::measure {
namespace {

constexpr VendorInfo kVendors[] = {
    {"nvidia", "libnvidia-ml.so.1", OpenNvml},
    {"amd", "libamd_smi.so", OpenAmdSmi},
};

// "nvidia" → MEMSTRATA_NVIDIA_LIBRARY
std::string LibraryOf(const VendorInfo& vendor) {
  std::string variable = "MEMSTRATA_";
  for (const char letter : vendor.id) variable += static_cast<char>(letter - 'a' + 'A');
  const char* named = std::getenv((variable + "_LIBRARY").c_str());
  return named != nullptr ? named : std::string(vendor.library);
}

}  // namespace

std::span<const VendorInfo> AllVendors() { return kVendors; }

FoundDevices FindDevices() {
  FoundDevices found;
  for (const VendorInfo& vendor : kVendors) {
    Result<std::unique_ptr<VendorDevices>> devices = vendor.open(LibraryOf(vendor));
    if (devices) {
      found.vendors.push_back(*std::move(devices));
    } else {
      found.problems.emplace_back(vendor.id, devices.error().message);
    }
  }
  return found;
}

}  // namespace memstrata::measure
