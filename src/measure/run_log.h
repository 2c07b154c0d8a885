#pragma once
// Appends lines to run.tsv. Each goes to the file whole, in one write; when the disk is full the log ends, the run does
// not. Thread-safe.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "measure/session.h"

namespace memstrata::measure {

/// Version of the form of run.tsv, its first line.
inline constexpr uint64_t kRunLogVersion = 1;
inline constexpr const char* kRunLogName = "run.tsv";

class RunLog {
 public:
  /// error: kIo
  static Result<std::unique_ptr<RunLog>> Create(const std::string& path);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  void Rate(double rate_hz);
  void Machine(std::optional<uint64_t> total_bytes, std::optional<uint64_t> group_limit_bytes);
  void Device(const DeviceFacts& facts);
  void Command(const std::vector<std::string>& command, bool is_beside);
  void Sample(const DeviceSample& sample);
  void Sample(const HostSample& sample);
  void Variable(const std::string& name, const std::string& value);  // of the environment
  void Signal(int32_t signal);                                       // that came to end the run
  void MarkReset(int32_t process_id);                                // it set its own highest mark of memory back
  void Member(int32_t process_id);                                   // of the process tree, once each
  void Missing(const Gap& gap);
  void CommandEnd(uint32_t command, const CommandRun& end);
  /// Written so far.
  uint64_t size_bytes() const { return size_bytes_; }
  /// The last line: the run was recorded to its end.
  void End(uint64_t missed_samples, int64_t clock_drift_ns, uint64_t sampler_cpu_ns);

 private:
  explicit RunLog(int file) : file_(file) {}
  void Write(std::string line);

  std::mutex mutex_;
  int file_;
  bool is_full_ = false;
  std::atomic<uint64_t> size_bytes_ = 0;
};

}  // namespace memstrata::measure
