#pragma once
// The programs of a run: started together, waited for, sent the signals that this process gets, ended at a timeout.
//
// While it lives, this process adopts what its descendants leave behind (PR_SET_CHILD_SUBREAPER), so that a daemon of
// the run stays in its tree; signals are blocked in this thread and its later threads, and taken here.

#include <sys/resource.h>

#include <csignal>

#include "dryrun/child.h"
#include "measure/session.h"

namespace memstrata::measure {

class Children {
 public:
  Children();
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  /// Starts one more. `is_beside`: it is not waited for. error: kNotFound
  Status Start(const std::vector<std::string>& command, bool is_beside, const dryrun::Environment& environment,
               int stdout_descriptor, int stderr_descriptor);
  /// Until all that are waited for have ended. At the timeout SIGTERM goes to the tree, `grace_ns` later SIGKILL.
  void WaitForAll(std::optional<int64_t> timeout_ns, int64_t grace_ns);
  /// Ends what still runs of the tree: SIGTERM, `grace_ns` later SIGKILL; what `grace_ns` later still runs is left.
  void EndRest(int64_t grace_ns);
  /// In the order in which they were started.
  const std::vector<CommandRun>& runs() const { return runs_; }
  /// Signals that came to end the run (IsEndingSignal), in order.
  const std::vector<int32_t>& signals() const { return signals_; }
  /// Processes of the tree that were left when the commands had ended.
  bool has_left() const { return has_left_; }
  /// Kills what still runs of the tree.
  void KillTree(int signal);

 private:
  struct Process {
    pid_t id = 0;
    int64_t begin_ns = 0;
    bool ended = false;
  };
  bool AllEnded() const;
  void Reap();
  void NoteEnd(size_t index, int status, const struct rusage& usage);
  void NoteUnknownChildren();
  // Processes of the tree that nobody waits for, those beside and below them left out.
  size_t LeftCount() const;
  void Forward(const siginfo_t& information);

  std::vector<Process> processes_;
  std::vector<CommandRun> runs_;
  std::vector<int32_t> signals_;
  bool has_left_ = false;
  sigset_t taken_;
  sigset_t before_;
};

}  // namespace memstrata::measure
