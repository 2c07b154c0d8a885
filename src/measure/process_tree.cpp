#include "measure/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <span>

#include "base/tab_lines.h"

namespace memstrata::measure {
namespace {

constexpr uint64_t kBytesPerKilobyte = 1024;  // "kB" in /proc is 1,024 bytes

struct Field {
  std::string_view name;
  uint64_t* bytes;
};

// Sizes of a kernel's file with a name and a number of kilobytes a line; false where none of them is there, or one is
// no number.
bool ReadFields(std::string_view text, std::span<const Field> fields) {
  bool has_one = false;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const Field& known) { return line.starts_with(known.name); });
    if (field == fields.end()) continue;
    line.remove_prefix(std::min(line.find_first_of("0123456789", field->name.size()), line.size()));
    const std::optional<uint64_t> kilobytes = ParseUnsigned(line.substr(0, line.find(' ')));
    if (!kilobytes) return false;
    *field->bytes = *kilobytes * kBytesPerKilobyte;
    has_one = true;
  }
  return has_one;
}

// The number in a field of a /proc/PID/stat, "PID (name) state PPID …", counted from 1 as in proc(5); from the fourth
// on. The name may hold anything.
std::optional<uint64_t> StatNumber(std::string_view stat, int field) {
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  stat.remove_prefix(name_end + 1);
  for (int before = 2; before < field; ++before) {
    const size_t blank = stat.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    stat.remove_prefix(blank + 1);
  }
  return ParseUnsigned(stat.substr(0, stat.find(' ')));
}

// Whether a process ignores SIGCHLD: the kernel then reaps its children, and counts nothing of them.
bool IgnoresChildren(std::string_view status) {
  constexpr std::string_view kName = "SigIgn:\t";
  const size_t at = status.find(kName);
  uint64_t ignored = 0;
  if (at == std::string_view::npos) return true;
  const char* begin = status.data() + at + kName.size();
  if (std::from_chars(begin, status.data() + status.size(), ignored, 16).ec != std::errc{}) return true;
  return (ignored >> (SIGCHLD - 1) & 1) != 0;
}

std::multimap<int32_t, int32_t> ChildrenByParent() {
  std::multimap<int32_t, int32_t> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    const std::optional<uint64_t> id = ParseUnsigned(entry->d_name);
    if (!id) continue;
    constexpr int kParent = 4;
    if (const std::optional<uint64_t> parent = StatNumber(ReadKernelFile(fmt::format("/proc/{}/stat", *id)), kParent))
      children.emplace(static_cast<int32_t>(*parent), static_cast<int32_t>(*id));
  }
  return children;
}

// Numbers with a blank after each.
std::vector<int32_t> NumbersIn(std::string_view text) {
  std::vector<int32_t> numbers;
  for (size_t end = text.find(' '); end != std::string_view::npos; end = text.find(' ')) {
    if (const std::optional<uint64_t> number = ParseUnsigned(text.substr(0, end)))
      numbers.push_back(static_cast<int32_t>(*number));
    text.remove_prefix(end + 1);
  }
  return numbers;
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
  const Field fields[] = {{"VmRSS:", &memory.resident_bytes}, {"VmHWM:", &memory.highest_resident_bytes},
                          {"VmSwap:", &memory.swapped_bytes}, {"VmLck:", &memory.locked_bytes},
                          {"VmPin:", &memory.pinned_bytes},   {"RssAnon:", &memory.held_bytes},
                          {"RssShmem:", &memory.shared_bytes}};
  if (!ReadFields(text, fields)) return std::nullopt;
  memory.held_bytes += memory.shared_bytes;
  return memory;
}

std::optional<ProportionalMemory> ParseSmapsRollup(std::string_view text) {
  ProportionalMemory memory;
  uint64_t shared_bytes = 0;
  const Field fields[] = {
      {"Pss:", &memory.resident_bytes}, {"Pss_Anon:", &memory.held_bytes}, {"Pss_Shmem:", &shared_bytes}};
  if (!ReadFields(text, fields)) return std::nullopt;
  memory.held_bytes += shared_bytes;
  return memory;
}

std::optional<ProportionalMemory> ReadProportionalMemory(int32_t process_id) {
  return ParseSmapsRollup(ReadKernelFile(fmt::format("/proc/{}/smaps_rollup", process_id)));
}

bool HadChildren(int32_t process_id) {
  const std::string stat = ReadKernelFile(fmt::format("/proc/{}/stat", process_id));
  // Each process has page faults, and they are added to those of the parent that waits for it.
  constexpr int kFaultsOfChildren = 11;
  if (StatNumber(stat, kFaultsOfChildren) != 0U) return true;
  const std::string status = ReadKernelFile(fmt::format("/proc/{}/status", process_id));
  return IgnoresChildren(status);
}

uint64_t ProgramAddress(int32_t process_id) {
  constexpr int kStartOfCode = 26;
  return StatNumber(ReadKernelFile(fmt::format("/proc/{}/stat", process_id)), kStartOfCode).value_or(0);
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

std::optional<std::vector<int32_t>> ListedDescendants(int32_t root) {
  std::error_code problem;
  if (!std::filesystem::exists(fmt::format("/proc/{0}/task/{0}/children", root), problem)) return std::nullopt;
  std::vector<int32_t> found;
  std::vector<int32_t> waiting = {root};
  while (!waiting.empty()) {
    const std::string tasks = fmt::format("/proc/{}/task", waiting.back());
    waiting.pop_back();
    for (std::filesystem::directory_iterator at(tasks, problem);
         !problem && at != std::filesystem::directory_iterator(); at.increment(problem)) {
      for (const int32_t child : NumbersIn(ReadKernelFile((at->path() / "children").string()))) {
        found.push_back(child);
        waiting.push_back(child);
      }
    }
  }
  return found;
}

bool ProcessExists(int32_t process_id) { return kill(process_id, 0) == 0 || errno == EPERM; }

}  // namespace memstrata::measure
