#pragma once
// What the simulated card is. `memstrata dryrun` writes these as lines "key value" to a file and names it in the
// environment variable MEMSTRATA_DRYRUN_SETTINGS; without that file there is no device, and the library stays out of
// the way.

#include <cstdint>
#include <string>

namespace memstrata::device {

struct Settings {
  int32_t device_count = 0;
  std::string card_name;
  uint64_t capacity_bytes = 0;  // as frameworks see it
  uint64_t context_bytes = 0;   // of the driver and its kernels: taken from the start
  int32_t major = 0;            // compute capability
  int32_t minor = 0;
  int32_t multiprocessor_count = 0;
  int32_t threads_per_multiprocessor = 2048;
  int32_t kernel_architecture = 0;  // newest of the wheel's list that runs on the card, as 90 for sm_90
  int32_t cuda_version = 0;         // as 12060 for 12.6; also what the driver says of itself
  int32_t cudnn_version = 0;        // as 90501 for 9.5.1
  int32_t nccl_version = 0;         // as 22602 for 2.26.2
  uint64_t shadow_limit_bytes = 0;  // copies to the device up to this size are kept and delivered when read back
  uint64_t true_after = 0;          // every Nth read of one byte is true; 0: never
  uint64_t convolution_workspace_bytes = 0;
  std::string record_folder;  // where each process leaves its record
};

/// The settings of this process, read once; a file that cannot be read gives no device.
const Settings& ProcessSettings();

}  // namespace memstrata::device
