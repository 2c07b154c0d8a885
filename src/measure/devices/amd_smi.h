#pragma once
// AMD's devices, through its management library (AMD SMI); who uses them, what they are called and their driver through
// the kernel's own folders below /sys. Of the library only functions whose form has not changed between releases are
// called. References: https://rocm.docs.amd.com/projects/amdsmi/, the kernel's Documentation/gpu/amdgpu and
// kfd_topology.c.

#include "measure/devices/vendor.h"

namespace memstrata::measure {

/// errors: as VendorInfo::open
Result<std::unique_ptr<VendorDevices>> OpenAmdSmi(const std::string& library);

/// Who uses the card with this number of the kernel driver, from `folder`/PID/vram_NUMBER; nothing where the folder is
/// not there. cost: one small file a process
std::optional<std::vector<ProcessUse>> ReadKfdProcesses(const std::string& folder, uint64_t gpu_id);

/// What the kernel below `system_root` ("/sys") says of the card on the bus at facts.pci_bus_id, whose node of the
/// kernel driver has these `properties`: name (else its architecture, as "gfx942"), driver, whether it is on the chip
/// of a CPU.
void AddKernelFacts(const std::string& system_root, const std::string& properties, DeviceFacts& facts);

/// How two nodes of the kernel driver reach each other, from `folder`/FROM/io_links; empty: it names no link.
std::string ReadKfdLink(const std::string& folder, uint64_t from, uint64_t to);

}  // namespace memstrata::measure
