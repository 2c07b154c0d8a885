#include "measure/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>

#include "base/tab_lines.h"

namespace memstrata::measure {
namespace {

constexpr uint64_t kBytesPerKilobyte = 1024;  // "kB" in /proc is 1,024 bytes

// The parent that a /proc/PID/stat names: "PID (name) state PPID …", where the name may hold anything.
std::optional<int32_t> ParentIn(std::string_view stat) {
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 4 >= stat.size()) return std::nullopt;
  std::string_view rest = stat.substr(name_end + 4);
  rest = rest.substr(0, rest.find(' '));
  const std::optional<uint64_t> parent = ParseUnsigned(rest);
  if (!parent) return std::nullopt;
  return static_cast<int32_t>(*parent);
}

std::multimap<int32_t, int32_t> ChildrenByParent() {
  std::multimap<int32_t, int32_t> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    const std::optional<uint64_t> id = ParseUnsigned(entry->d_name);
    if (!id) continue;
    if (const std::optional<int32_t> parent = ParentIn(ReadKernelFile(fmt::format("/proc/{}/stat", *id))))
      children.emplace(*parent, static_cast<int32_t>(*id));
  }
  return children;
}

}  // namespace

std::string ReadKernelFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t count = read(file, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<size_t>(count));
  }
  close(file);
  return text;
}

std::optional<ProcessMemory> ParseProcessStatus(std::string_view text) {
  ProcessMemory memory;
  struct Field {
    std::string_view name;
    uint64_t* bytes;
  };
  const Field fields[] = {{"VmRSS:", &memory.resident_bytes},
                          {"VmHWM:", &memory.highest_resident_bytes},
                          {"VmSwap:", &memory.swapped_bytes},
                          {"VmLck:", &memory.locked_bytes},
                          {"VmPin:", &memory.pinned_bytes}};
  bool has_memory = false;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    for (const Field& field : fields) {
      if (!line.starts_with(field.name)) continue;
      line.remove_prefix(std::min(line.find_first_of("0123456789"), line.size()));
      const std::optional<uint64_t> kilobytes = ParseUnsigned(line.substr(0, line.find(' ')));
      if (!kilobytes) return std::nullopt;
      *field.bytes = *kilobytes * kBytesPerKilobyte;
      has_memory = true;
      break;
    }
  }
  if (!has_memory) return std::nullopt;
  return memory;
}

std::optional<ProcessMemory> ReadProcessMemory(int32_t process_id) {
  return ParseProcessStatus(ReadKernelFile(fmt::format("/proc/{}/status", process_id)));
}

std::vector<int32_t> Descendants(int32_t root) {
  const std::multimap<int32_t, int32_t> children = ChildrenByParent();
  std::vector<int32_t> found;
  std::vector<int32_t> waiting = {root};
  while (!waiting.empty()) {
    const int32_t parent = waiting.back();
    waiting.pop_back();
    const auto [begin, end] = children.equal_range(parent);
    for (auto child = begin; child != end; ++child) {
      found.push_back(child->second);
      waiting.push_back(child->second);
    }
  }
  return found;
}

bool ProcessExists(int32_t process_id) { return kill(process_id, 0) == 0 || errno == EPERM; }

}  // namespace memstrata::measure
