#pragma once
// Devices as their vendors' management libraries see them, opened at run time: a machine without them has no devices.

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "measure/session.h"

namespace memstrata::measure {

/// What one device holds now.
struct DeviceReading {
  uint64_t used_bytes = 0;  // by all, what the driver reserves included
  uint64_t free_bytes = 0;
  std::optional<std::vector<ProcessUse>> processes;
};

/// The devices of one vendor. Not thread-safe: one thread asks.
class VendorDevices {
 public:
  virtual ~VendorDevices() = default;
  virtual const std::vector<DeviceFacts>& facts() const = 0;
  /// Nothing where the device does not answer (it is lost, or the call is not permitted).
  virtual std::optional<DeviceReading> Read(size_t device) = 0;
  /// How two devices reach each other, in the vendor's words; empty: it does not say.
  virtual std::string LinkBetween(size_t, size_t) { return {}; }
};

struct VendorInfo {
  std::string_view id;       // "nvidia"
  std::string_view library;  // "libnvidia-ml.so.1"
  /// errors: kNotFound when the library is not here, kIo when it cannot be used; the sentence says why.
  Result<std::unique_ptr<VendorDevices>> (*open)(const std::string& library);
};

/// The one list (devices/vendors.cpp).
std::span<const VendorInfo> AllVendors();

/// Devices of all vendors that are here, and why others are not. MEMSTRATA_NVIDIA_LIBRARY and MEMSTRATA_AMD_LIBRARY in
/// the environment name other files for the libraries.
struct FoundDevices {
  std::vector<std::unique_ptr<VendorDevices>> vendors;
  std::vector<std::pair<std::string_view, std::string>> problems;  // vendor, sentence
};
FoundDevices FindDevices();

}  // namespace memstrata::measure
