#include "measure/host_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/tab_lines.h"
#include "measure/process_tree.h"

namespace memstrata::measure {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kBytesPerKilobyte = 1024;
// Version 1 writes "no limit" as the largest multiple of a page: anything from 2^60 on is none.
constexpr uint64_t kNoLimitBytes = uint64_t{1} << 60;

std::optional<uint64_t> FieldBytes(const std::string& text, const std::string& name) {
  size_t at = text.find("\n" + name);
  if (text.starts_with(name)) {
    at = 0;
  } else if (at == std::string::npos) {
    return std::nullopt;
  }
  const size_t digits = text.find_first_of("0123456789", at);
  if (digits == std::string::npos) return std::nullopt;
  const std::optional<uint64_t> kilobytes =
      ParseUnsigned(std::string_view(text).substr(digits, text.find(' ', digits) - digits));
  if (!kilobytes) return std::nullopt;
  return *kilobytes * kBytesPerKilobyte;
}

// Nothing where one of them is not there: a sum that lacks a part would not be told from a whole one.
std::optional<uint64_t> SumBytes(const std::string& text, std::initializer_list<const char*> names) {
  uint64_t sum_bytes = 0;
  for (const char* name : names) {
    const std::optional<uint64_t> bytes = FieldBytes(text, name);
    if (!bytes) return std::nullopt;
    sum_bytes += *bytes;
  }
  return sum_bytes;
}

std::optional<uint64_t> ReadBytes(const std::string& path) {
  const std::string text = path.empty() ? std::string() : ReadKernelFile(path);
  return ParseUnsigned(std::string_view(text).substr(0, text.find('\n')));
}

// The path behind "0::" (version 2) or behind a list of controllers with "memory" (version 1).
std::optional<std::string> PathOf(const std::string& own, bool is_version_2) {
  size_t begin = 0;
  while (begin < own.size()) {
    const size_t end = std::min(own.find('\n', begin), own.size());
    const std::string line = own.substr(begin, end - begin);
    begin = end + 1;
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    if (is_version_2 ? controllers == ",," : controllers.find(",memory,") != std::string::npos)
      return line.substr(second + 1);
  }
  return std::nullopt;
}

// The kernel itself, with what it keeps free for itself: what is free, of file caches and reclaimable, and yet not said
// to be available (its watermarks; Documentation/filesystems/proc.rst, MemAvailable).
std::optional<uint64_t> KernelBytes(const std::string& text) {
  const std::optional<uint64_t> own_bytes = SumBytes(text, {"SUnreclaim:", "KernelStack:", "PageTables:", "Percpu:"});
  const std::optional<uint64_t> idle_bytes =
      SumBytes(text, {"MemFree:", "Active(file):", "Inactive(file):", "SReclaimable:"});
  const std::optional<uint64_t> available_bytes = FieldBytes(text, "MemAvailable:");
  if (!own_bytes || !idle_bytes || !available_bytes) return std::nullopt;
  return *own_bytes + *idle_bytes - std::min(*idle_bytes, *available_bytes);
}

// Of a group and those above it, up to `root`: the folder with the smallest limit, which is the one that is met first;
// without any limit the group itself.
std::string TightestGroup(const std::string& root, std::string folder, const std::string& limit) {
  std::string tightest = folder;
  uint64_t least_bytes = kNoLimitBytes;
  while (true) {
    const std::optional<uint64_t> bytes = ReadBytes(folder + "/" + limit);
    if (bytes && *bytes < least_bytes) {
      least_bytes = *bytes;
      tightest = folder;
    }
    if (folder.size() <= root.size()) return tightest;
    folder.resize(folder.rfind('/'));
  }
}

}  // namespace

MachineMemory ParseMeminfo(const std::string& text) {
  return {FieldBytes(text, "MemTotal:"), FieldBytes(text, "MemAvailable:"),        FieldBytes(text, "SwapTotal:"),
          FieldBytes(text, "SwapFree:"), SumBytes(text, {"AnonPages:", "Shmem:"}), KernelBytes(text),
          FieldBytes(text, "Shmem:")};
}

MachineMemory ReadMachineMemory() { return ParseMeminfo(ReadKernelFile("/proc/meminfo")); }

MemoryGroup::MemoryGroup() : MemoryGroup("/sys/fs/cgroup", ReadKernelFile("/proc/self/cgroup")) {}

MemoryGroup::MemoryGroup(const std::string& system_root, const std::string& own) {
  // In a container the path is the host's, and what lies at the mount point is the container's own group.
  const auto find = [&](int version, const std::string& root, const std::string& used, const std::string& limit) {
    const std::optional<std::string> path = PathOf(own, version == 2);
    std::error_code ignored;
    for (const std::string& folder : {path ? root + *path : root, root}) {
      if (version_ != 0 || !path || !fs::is_regular_file(folder + "/" + used, ignored)) continue;
      const std::string tightest = TightestGroup(root, folder, limit);
      version_ = version;
      used_path_ = fmt::format("{}/{}", tightest, used);
      limit_path_ = fmt::format("{}/{}", tightest, limit);
    }
  };
  find(2, system_root, "memory.current", "memory.max");
  find(1, system_root + "/memory", "memory.usage_in_bytes", "memory.limit_in_bytes");
}

std::optional<uint64_t> MemoryGroup::UsedBytes() const { return ReadBytes(used_path_); }

std::optional<uint64_t> MemoryGroup::LimitBytes() const {
  const std::optional<uint64_t> limit = ReadBytes(limit_path_);
  return limit && *limit < kNoLimitBytes ? limit : std::nullopt;
}

}  // namespace memstrata::measure
