#include "measure/children.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "measure/clock.h"
#include "measure/process_tree.h"

namespace memstrata::measure {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr int64_t kForeverNs = INT64_MAX;

timespec AsTimespec(int64_t duration_ns) {
  timespec result{};
  result.tv_sec = duration_ns / kNsPerSecond;
  result.tv_nsec = duration_ns % kNsPerSecond;
  return result;
}

}  // namespace

Children::Children() {
  sigemptyset(&taken_);
  sigaddset(&taken_, SIGCHLD);
  for (const int signal : kForwarded) sigaddset(&taken_, signal);
  pthread_sigmask(SIG_BLOCK, &taken_, &before_);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Children::~Children() {
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

Status Children::Start(const std::vector<std::string>& command, const dryrun::Environment& environment,
                       int stdout_descriptor, int stderr_descriptor) {
  dryrun::StartOptions options;
  options.stdout_descriptor = stdout_descriptor;
  options.stderr_descriptor = stderr_descriptor;
  options.signal_mask = &before_;
  const int64_t begin_ns = MonotonicNs();
  MEMSTRATA_ASSIGN_OR_RETURN(const pid_t id, dryrun::StartChild(command, environment, options));
  processes_.push_back({id, begin_ns, false});
  CommandRun run;
  run.command = command;
  runs_.push_back(std::move(run));
  return {};
}

bool Children::AllEnded() const {
  return std::all_of(processes_.begin(), processes_.end(), [](const Process& process) { return process.ended; });
}

void Children::Reap() {
  int status = 0;
  struct rusage usage {};
  for (pid_t id = 0; (id = wait4(-1, &status, WNOHANG, &usage)) > 0;) {
    for (size_t i = 0; i < processes_.size(); ++i) {
      if (processes_[i].id != id) continue;  // an adopted process
      processes_[i].ended = true;
      runs_[i].ended = true;
      runs_[i].exit_status = dryrun::ExitStatusOf(status);
      runs_[i].wall_ns = MonotonicNs() - processes_[i].begin_ns;
      // Until it executes its program a child shares the memory of this process, and the kernel counts that. Not
      // ru_maxrss of this process: it remembers in its turn who started it.
      const std::optional<ProcessMemory> own = ReadProcessMemory(getpid());
      const uint64_t highest_bytes = static_cast<uint64_t>(usage.ru_maxrss) * dryrun::kBytesPerMaxrss;
      if (own && highest_bytes > own->highest_resident_bytes) runs_[i].highest_resident_bytes = highest_bytes;
    }
  }
}

// A signal of the terminal (from the kernel) has reached the whole group of processes already; one that somebody sent
// has come to this process alone.
void Children::Forward(const siginfo_t& information) {
  if (information.si_code == SI_KERNEL) return;
  for (const Process& process : processes_) {
    if (!process.ended) kill(process.id, information.si_signo);
  }
}

void Children::KillTree(int signal) {
  for (const int32_t id : Descendants(getpid())) kill(id, signal);
}

void Children::WaitForAll(std::optional<int64_t> timeout_ns, int64_t grace_ns) {
  const int64_t begin_ns = MonotonicNs();
  int64_t due_ns = timeout_ns ? begin_ns + *timeout_ns : kForeverNs;
  int next_signal = SIGTERM;
  for (Reap(); !AllEnded(); Reap()) {
    const int64_t now_ns = MonotonicNs();
    if (now_ns >= due_ns) {
      for (size_t i = 0; i < processes_.size(); ++i) runs_[i].timed_out |= !processes_[i].ended;
      KillTree(next_signal);
      due_ns = next_signal == SIGTERM ? now_ns + grace_ns : kForeverNs;
      next_signal = SIGKILL;
    }
    siginfo_t information{};
    const timespec wait = AsTimespec(std::min(due_ns - now_ns, kNsPerSecond));
    if (sigtimedwait(&taken_, &information, &wait) > 0 && information.si_signo != SIGCHLD) Forward(information);
  }
}

}  // namespace memstrata::measure
