// A host access to device memory faults on a real machine. Here it ends with a sentence instead of silence; every other
// fault goes to whoever handled it before.

#include <unistd.h>

#include <csignal>
#include <cstring>

#include "core/device_memory.h"
#include "core/record.h"
#include "core/settings.h"

namespace memstrata::device {
namespace {

constexpr char kSentence[] =
    "memstrata dryrun: the program read or wrote device memory from the host. A real card would fault here too, unless "
    "the "
    "memory was managed (unified) memory, which the simulated card does not have.\n";

struct sigaction& PreviousAction() {
  static struct sigaction action;
  return action;
}

void OnFault(int signal, siginfo_t* info, void*) {
  // Find() takes a lock; a fault inside the accounting itself would be our own bug, not a device access.
  if (Memory().Find(reinterpret_cast<uintptr_t>(info->si_addr))) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kSentence, sizeof(kSentence) - 1);
  }
  sigaction(signal, &PreviousAction(), nullptr);  // returning repeats the access and ends as it would have without us
}

__attribute__((constructor)) void WatchFaults() {
  if (ProcessSettings().device_count == 0) return;
  struct sigaction action = {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, &PreviousAction());
}

}  // namespace
}  // namespace memstrata::device
