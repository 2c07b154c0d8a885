// The host's memory: PyTorch's CPU allocator, the kernel that kills a process, workers that were killed, files that
// cannot be mapped, pinned memory.

#include "oom/families/family.h"

namespace memstrata::oom {
namespace {

void FindCpuAllocator(const LogStream& stream, std::vector<OomReport>& reports) {
  ForEachMessage(stream.text, "DefaultCPUAllocator:", 0, 300, [&](std::string_view window, size_t at) {
    const auto match = FindPattern(window, "tried to allocate <bytes>");
    if (!match) return;
    OomReport report = StartReport(stream, at, "host", "cpu_allocator");
    const Value& requested = match->values[0];
    if (requested.IsImpossible()) {
      Refuse(report, "no host has what was asked for.");
    } else {
      report.requested_bytes = requested.bytes;
      MarkMasked(report,
                 fmt::format("PyTorch asked the host for {}, and the system refused it.", Show(requested.bytes)),
                 "See what the host had: free -m, the limit of the container's memory, ulimit -v.");
    }
    reports.push_back(std::move(report));
  });
}

constexpr Clause kKillClauses[] = {
    {"total-vm:<size>", {Fact::kReserved}},
    {"anon-rss:<size>", {Fact::kLive}},
    {"file-rss:<size>", {Fact::kUsed}},
    {"shmem-rss:<size>", {Fact::kIdle}},
};

void FindKernelKill(const LogStream& stream, std::vector<OomReport>& reports) {
  ForEachMessage(stream.text, "ut of memory: Killed process ", 40, 500, [&](std::string_view window, size_t at) {
    const Facts facts = CollectFacts(window, kKillClauses);
    OomReport report = StartReport(stream, at, "host", "kernel_kill");
    report.live_bytes = facts.Bytes(Fact::kLive);
    if (facts.Has(Fact::kUsed)) report.details.push_back({"file_rss", facts.Bytes(Fact::kUsed), {}});
    if (facts.Has(Fact::kIdle)) report.details.push_back({"shmem_rss", facts.Bytes(Fact::kIdle), {}});
    const bool in_group = window.find("emory cgroup out of memory") != std::string_view::npos;
    report.verdict = in_group ? OomVerdict::kCap : OomVerdict::kFull;
    report.text =
        fmt::format("The kernel killed the process: it held {} of the host's memory{}.", Show(report.live_bytes),
                    in_group ? ", and the limit of its container or control group was reached" : "");
    if (!in_group) report.text += " The device's memory has no part in it.";
    report.missing.push_back(
        {"limit", "The line does not say how much there was.",
         in_group ? "Read memory.max of the control group." : "Read the lines before it in the kernel's log (dmesg)."});
    reports.push_back(std::move(report));
  });
}

struct KilledMessage {
  std::string_view words;
  std::string_view format;
  std::string_view text;
};
constexpr std::string_view kKilledProcess =
    "The process was killed (signal 9), most often because the host ran out of memory.";
constexpr KilledMessage kKilled[] = {
    {"is killed by signal: Killed", "worker_killed",
     "A worker that loads data was killed, most often by the kernel because the host ran out of memory."},
    {"insufficient shared memory", "shared_memory",
     "Workers hand data over in shared memory, and there was too little of it (/dev/shm)."},
    {"exit code 137", "exit_137", kKilledProcess},
    {"exit code: 137", "exit_137", kKilledProcess},
    {"exit status 137", "exit_137", kKilledProcess},
    {"exited with code 137", "exit_137", kKilledProcess},
    {"exit code -9", "exit_137", kKilledProcess},
    {"exit status -9", "exit_137", kKilledProcess},
    {"exitcode: -9", "exit_137", kKilledProcess},
    {"exitcode : -9", "exit_137", kKilledProcess},
    {"Signals.SIGKILL", "exit_137", kKilledProcess},
    {"Signal 9 (SIGKILL)", "exit_137", kKilledProcess},
};

void FindKilled(const LogStream& stream, std::vector<OomReport>& reports) {
  const size_t first = reports.size();
  for (const KilledMessage& killed : kKilled) {
    const size_t at = stream.text.find(killed.words);
    if (at == std::string::npos) continue;
    const bool is_known = std::any_of(reports.begin() + static_cast<std::ptrdiff_t>(first), reports.end(),
                                      [&](const OomReport& report) { return report.format == killed.format; });
    if (is_known) continue;
    OomReport report = StartReport(stream, at, "host", killed.format);
    MarkMasked(report, std::string(killed.text),
               "Read the kernel's log (dmesg, journalctl -k) of that time, and the limit of the container.");
    reports.push_back(std::move(report));
  }
}

void FindMapping(const LogStream& stream, std::vector<OomReport>& reports) {
  ForEachMessage(stream.text, " mmap ", 20, 400, [&](std::string_view window, size_t at) {
    const auto match = FindPattern(window, " mmap <bytes> bytes");
    if (!match || window.find("(12)") == std::string_view::npos) return;
    OomReport report = StartReport(stream, at, "host", "mmap");
    report.requested_bytes = match->values[0].bytes;
    MarkMasked(report,
               fmt::format("A file of {} could not be mapped into the host's memory.", Show(report.requested_bytes)),
               "See what the host had (free -m), vm.overcommit_memory and ulimit -v.");
    reports.push_back(std::move(report));
  });
}

void FindPinned(const LogStream& stream, std::vector<OomReport>& reports) {
  for (const std::string_view words : {"cudaHostAlloc", "cudaHostRegister"}) {
    ForEachMessage(stream.text, words, 200, 200, [&](std::string_view window, size_t at) {
      if (window.find("out of memory") == std::string_view::npos) return;
      OomReport report = StartReport(stream, at, "host", "pinned");
      MarkMasked(report,
                 "Pinned memory of the host could not be had; the message says CUDA, but the device has no part in it.",
                 "See the host's free memory and ulimit -l; PyTorch rounds pinned blocks up to powers of two.");
      reports.push_back(std::move(report));
    });
  }
}

}  // namespace

void FindHost(const LogStream& stream, std::vector<OomReport>& reports) {
  FindCpuAllocator(stream, reports);
  FindKernelKill(stream, reports);
  FindKilled(stream, reports);
  FindMapping(stream, reports);
  FindPinned(stream, reports);
}

}  // namespace memstrata::oom
