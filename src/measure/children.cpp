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
constexpr uint64_t kBytesPerBlock = 512;  // getrusage(2) counts storage in these

uint64_t Ns(const timeval& time) {
  constexpr int64_t kNsPerMicrosecond = 1000;
  return static_cast<uint64_t>(time.tv_sec * kNsPerSecond + time.tv_usec * kNsPerMicrosecond);
}

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

Status Children::Start(const std::vector<std::string>& command, bool is_beside, const dryrun::Environment& environment,
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
  run.had_children = false;
  run.is_beside = is_beside;
  runs_.push_back(std::move(run));
  return {};
}

bool Children::AllEnded() const {
  return std::all_of(runs_.begin(), runs_.end(), [](const CommandRun& run) { return run.ended || run.is_beside; });
}

void Children::Reap() {
  // First without taking it: until then the kernel still tells what it was.
  for (siginfo_t next{}; waitid(P_ALL, 0, &next, WEXITED | WNOHANG | WNOWAIT) == 0 && next.si_pid != 0; next = {}) {
    const pid_t id = next.si_pid;
    const auto process = std::find_if(processes_.begin(), processes_.end(),
                                      [id](const Process& one) { return one.id == id && !one.ended; });
    const bool had_children = process != processes_.end() && HadChildren(id);
    int status = 0;
    struct rusage usage {};
    if (wait4(id, &status, WNOHANG, &usage) != id) return;
    if (process == processes_.end()) {
      NoteUnknownChildren();  // an adopted process: whose it was is not known
      continue;
    }
    const auto index = static_cast<size_t>(process - processes_.begin());
    NoteEnd(index, status, usage);
    runs_[index].had_children |= had_children;
  }
}

void Children::NoteEnd(size_t index, int status, const struct rusage& usage) {
  processes_[index].ended = true;
  CommandRun& run = runs_[index];
  run.ended = true;
  run.exit_status = dryrun::ExitStatusOf(status);
  run.wall_ns = MonotonicNs() - processes_[index].begin_ns;
  run.cpu_ns = Ns(usage.ru_utime) + Ns(usage.ru_stime);
  run.read_bytes = static_cast<uint64_t>(usage.ru_inblock) * kBytesPerBlock;
  run.written_bytes = static_cast<uint64_t>(usage.ru_oublock) * kBytesPerBlock;
  // Until it executes its program a child shares the memory of this process, and the kernel counts that. Not ru_maxrss
  // of this process: it remembers in its turn who started it.
  const std::optional<ProcessMemory> own = ReadProcessMemory(getpid());
  const uint64_t highest_bytes = static_cast<uint64_t>(usage.ru_maxrss) * dryrun::kBytesPerMaxrss;
  if (own && highest_bytes > own->highest_resident_bytes) run.highest_resident_bytes = highest_bytes;
}

void Children::NoteUnknownChildren() {
  for (CommandRun& run : runs_) run.had_children = true;
}

// A signal of the terminal (from the kernel) has reached the whole group of processes already; one that somebody sent
// has come to this process alone.
void Children::Forward(const siginfo_t& information) {
  const int signal = information.si_signo;
  if (IsEndingSignal(signal)) signals_.push_back(signal);
  if (information.si_code == SI_KERNEL) return;
  for (const Process& process : processes_) {
    if (!process.ended) kill(process.id, signal);
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
      for (size_t i = 0; i < processes_.size(); ++i) runs_[i].timed_out |= !processes_[i].ended && !runs_[i].is_beside;
      KillTree(next_signal);
      due_ns = next_signal == SIGTERM ? now_ns + grace_ns : kForeverNs;
      next_signal = SIGKILL;
    }
    siginfo_t information{};
    const timespec wait = AsTimespec(std::min(due_ns - now_ns, kNsPerSecond));
    if (sigtimedwait(&taken_, &information, &wait) > 0 && information.si_signo != SIGCHLD) Forward(information);
  }
  has_left_ = LeftCount() > 0;
  if (has_left_) NoteUnknownChildren();
}

size_t Children::LeftCount() const {
  size_t count = Descendants(getpid()).size();
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (!processes_[i].ended) count -= std::min(count, 1 + Descendants(processes_[i].id).size());
  }
  return count;
}

void Children::EndRest(int64_t grace_ns) {
  constexpr int64_t kPollNs = 20'000'000;
  for (CommandRun& run : runs_) run.was_stopped = !run.ended;
  int next_signal = SIGTERM;  // 0: nothing helps, as with a process of another user
  int64_t due_ns = MonotonicNs();
  for (Reap(); !Descendants(getpid()).empty(); Reap()) {
    if (MonotonicNs() >= due_ns) {
      if (next_signal == 0) return;
      KillTree(next_signal);
      next_signal = next_signal == SIGTERM ? SIGKILL : 0;
      due_ns = MonotonicNs() + grace_ns;
    }
    const timespec wait = AsTimespec(kPollNs);
    (void)sigtimedwait(&taken_, nullptr, &wait);
  }
}

}  // namespace memstrata::measure
