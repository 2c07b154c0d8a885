#pragma once
// Memory of the machine and of the control group that the run lives in.

#include <cstdint>
#include <optional>
#include <string>

namespace memstrata::measure {

/// unit: bytes; what the kernel does not say is nothing.
struct MachineMemory {
  std::optional<uint64_t> total_bytes;
  std::optional<uint64_t> available_bytes;
  std::optional<uint64_t> swap_total_bytes;
  std::optional<uint64_t> swap_free_bytes;
  std::optional<uint64_t> held_bytes;  // of all processes: anonymous and shared memory, each page once
  // Of the kernel itself: slabs that stay, stacks, page tables, per processor, and what it keeps free for itself.
  std::optional<uint64_t> kernel_bytes;
  std::optional<uint64_t> shared_bytes;  // shared memory and files in memory, mapped or not
};
MachineMemory ParseMeminfo(const std::string& text);
MachineMemory ReadMachineMemory();

/// The control group (cgroup) of this process, or the one above it whose limit is smaller: what they hold together
/// counts there. Version 2 where it is mounted, else version 1.
class MemoryGroup {
 public:
  /// `system_root` and `own` are other places for tests: the mount point, and what /proc/self/cgroup says.
  MemoryGroup();
  MemoryGroup(const std::string& system_root, const std::string& own);

  /// Nothing where there is no group with a memory controller, as in the root group.
  std::optional<uint64_t> UsedBytes() const;
  std::optional<uint64_t> LimitBytes() const;
  /// 1 or 2; 0 when none was found.
  int version() const { return version_; }

 private:
  int version_ = 0;
  std::string used_path_;
  std::string limit_path_;
};

}  // namespace memstrata::measure
