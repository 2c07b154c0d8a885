#pragma once
// Processes and their memory, from /proc.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memstrata::measure {

/// unit: bytes. Of one process, as /proc/PID/status counts.
struct ProcessMemory {
  uint64_t resident_bytes = 0;
  uint64_t highest_resident_bytes = 0;  // since it started
  uint64_t swapped_bytes = 0;
  uint64_t locked_bytes = 0;
  uint64_t pinned_bytes = 0;
  uint64_t held_bytes = 0;    // resident and not the cache of a file: anonymous and shared memory
  uint64_t shared_bytes = 0;  // of that: shared memory and files in memory
};

/// unit: bytes. A page that several processes map counts for each of them by its share.
struct ProportionalMemory {
  uint64_t resident_bytes = 0;
  uint64_t held_bytes = 0;  // as above
};

/// The fields of a /proc/PID/status; nothing for one without memory (a kernel thread, a zombie).
std::optional<ProcessMemory> ParseProcessStatus(std::string_view text);
std::optional<ProcessMemory> ReadProcessMemory(int32_t process_id);

/// Where the kernel put the program of a process: another place, or another program, after each exec. 0: it does not
/// say.
uint64_t ProgramAddress(int32_t process_id);

/// The fields of a /proc/PID/smaps_rollup; nothing where the kernel writes none of them.
std::optional<ProportionalMemory> ParseSmapsRollup(std::string_view text);
/// cost: the kernel walks the page tables of the process
std::optional<ProportionalMemory> ReadProportionalMemory(int32_t process_id);

/// Of a process that has ended and was not waited for: whether it had children. One that it never waited for is not
/// among them; it comes to the nearest reaper. True also where the process let the kernel reap them unseen.
bool HadChildren(int32_t process_id);

/// The processes below `root`, without it, each after its parent. cost: one small file per process of the machine
std::vector<int32_t> Descendants(int32_t root);

/// The same by what the kernel lists of each thread's children, which may lack one that is just being born; nothing
/// where it keeps no such lists. cost: one small file per thread of the tree
std::optional<std::vector<int32_t>> ListedDescendants(int32_t root);

/// Whether a process of that number exists in this process's view of them.
bool ProcessExists(int32_t process_id);

/// A small file of the kernel as it is now; empty where it cannot be read.
std::string ReadKernelFile(const std::string& path);

}  // namespace memstrata::measure
