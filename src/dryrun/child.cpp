#include "dryrun/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>

namespace memstrata::dryrun {
namespace {

constexpr int32_t kSignalBase = 128;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What a child is told to do with its standard output and error.
class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  void Duplicate(int from, int to) {
    if (from >= 0) posix_spawn_file_actions_adddup2(&actions_, from, to);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// While it lives, children that are started get fixed addresses, where `wanted`.
class FixedAddresses {
 public:
  explicit FixedAddresses(bool wanted) : before_(wanted ? personality(kAsk) : -1) {
    if (before_ >= 0) personality(static_cast<unsigned long>(before_) | ADDR_NO_RANDOMIZE);
  }
  ~FixedAddresses() {
    if (before_ >= 0) personality(static_cast<unsigned long>(before_));
  }
  FixedAddresses(const FixedAddresses&) = delete;
  FixedAddresses& operator=(const FixedAddresses&) = delete;

 private:
  static constexpr unsigned long kAsk = 0xffffffff;
  int before_;
};

// Signals that ask this program to end are held while a child runs, so that its records are still read and its folder
// is removed. They go to the child, which decides when it is over. A terminal has sent its own to both.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&held_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&held_, signal);
    pthread_sigmask(SIG_BLOCK, &held_, &before_);
  }
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// Of the child: the signals as they were.
  const sigset_t* before() const { return &before_; }
  /// Waits for a signal and hands it on, unless it says that a child has ended.
  void PassOneOn(pid_t child) const {
    siginfo_t info{};
    const int signal = sigwaitinfo(&held_, &info);
    if (signal > 0 && signal != SIGCHLD && info.si_code == SI_USER) kill(child, signal);
  }

 private:
  sigset_t held_;
  sigset_t before_;
};

class Attributes {
 public:
  explicit Attributes(const sigset_t* signal_mask) {
    posix_spawnattr_init(&attributes_);
    if (signal_mask == nullptr) return;
    posix_spawnattr_setsigmask(&attributes_, signal_mask);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string ReadAll(int descriptor) {
  std::string output;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return output;
    output.append(buffer.data(), std::min(static_cast<size_t>(count), kMaxCapturedBytes - output.size()));
  }
}

Result<ChildResult> WaitFor(pid_t process, int64_t begin_ns, const HeldSignals& signals) {
  int status = 0;
  struct rusage usage {};
  for (;;) {
    const pid_t ended = wait4(process, &status, WNOHANG, &usage);
    if (ended == process) break;
    if (ended < 0 && errno != EINTR)
      return Fail(ErrorCode::kIo, fmt::format("Waiting failed: {}.", std::strerror(errno)));
    signals.PassOneOn(process);
  }
  ChildResult result;
  result.exit_status = ExitStatusOf(status);
  result.host_peak_bytes = static_cast<uint64_t>(usage.ru_maxrss) * kBytesPerMaxrss;
  result.wall_ns = NowNs() - begin_ns;
  return result;
}

}  // namespace

Environment OwnEnvironment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

int32_t ExitStatusOf(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : kSignalBase + WTERMSIG(wait_status);
}

Result<pid_t> StartChild(const std::vector<std::string>& command, const Environment& environment,
                         const StartOptions& options) {
  std::vector<std::string> arguments = command;
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(fmt::format("{}={}", name, value));
  FileActions actions;
  actions.Duplicate(options.stdout_descriptor, STDOUT_FILENO);
  actions.Duplicate(options.stderr_descriptor, STDERR_FILENO);
  const Attributes attributes(options.signal_mask);
  const FixedAddresses fixed(options.has_fixed_addresses);  // inherited by the child
  pid_t process = 0;
  const int problem = posix_spawnp(&process, command.front().c_str(), actions.get(), attributes.get(),
                                   Pointers(arguments).data(), Pointers(variables).data());
  if (problem == 0) return process;
  return Fail(ErrorCode::kNotFound,
              fmt::format("\"{}\" cannot be started: {}.", command.front(), std::strerror(problem)));
}

Result<ChildResult> RunChild(const std::vector<std::string>& command, const Environment& environment,
                             ChildOutput output) {
  int ends[2] = {-1, -1};
  if (output == ChildOutput::kCapture && pipe2(ends, O_CLOEXEC) != 0)
    return Fail(ErrorCode::kIo, fmt::format("No pipe: {}.", std::strerror(errno)));
  StartOptions options;
  options.has_fixed_addresses = true;
  options.stdout_descriptor = output == ChildOutput::kToStderr ? STDERR_FILENO : ends[1];
  const HeldSignals signals;
  options.signal_mask = signals.before();
  const int64_t begin_ns = NowNs();
  const Result<pid_t> process = StartChild(command, environment, options);
  if (ends[1] >= 0) close(ends[1]);
  std::string captured;
  if (ends[0] >= 0) {
    if (process) captured = ReadAll(ends[0]);
    close(ends[0]);
  }
  if (!process) return tl::unexpected(process.error());
  Result<ChildResult> result = WaitFor(*process, begin_ns, signals);
  if (result) result->output = std::move(captured);
  return result;
}

}  // namespace memstrata::dryrun
