#pragma once
// AMD's devices, through its management library (AMD SMI), and who uses them through the kernel driver's own folder
// /sys/class/kfd. Only functions whose form has not changed between releases are called; the name of a card is not
// among them. Reference: https://rocm.docs.amd.com/projects/amdsmi/.

#include "measure/devices/vendor.h"

namespace memstrata::measure {

/// errors: as VendorInfo::open
Result<std::unique_ptr<VendorDevices>> OpenAmdSmi(const std::string& library);

/// Who uses the card with this number of the kernel driver, from `folder`/PID/vram_NUMBER; nothing where the folder is
/// not there. cost: one small file a process
std::optional<std::vector<ProcessUse>> ReadKfdProcesses(const std::string& folder, uint64_t gpu_id);

/// How two nodes of the kernel driver reach each other, from `folder`/FROM/io_links; empty: it names no link.
std::string ReadKfdLink(const std::string& folder, uint64_t from, uint64_t to);

}  // namespace memstrata::measure
