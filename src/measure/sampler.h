#pragma once
// The thread that asks devices and host at a fixed rate and writes what they say to the run's log. What lies between
// two samples it does not see; the kernel's own highest mark of each process closes that gap for the host.

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "measure/clock.h"
#include "measure/devices/vendor.h"
#include "measure/host_memory.h"
#include "measure/run_log.h"

namespace memstrata::measure {

class Sampler {
 public:
  /// Samples the processes below `root` and all `devices`. Both must live as long as the sampler.
  Sampler(int32_t root, double rate_hz, FoundDevices& devices, RunLog& log);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// Writes what the devices are, takes the first sample, and goes on in a thread of its own.
  void Start();
  /// Takes the last sample and ends the thread.
  void Stop();

  const Clock& clock() const { return clock_; }
  /// Samples that were due while an earlier one still ran. After Stop().
  uint64_t missed_count() const { return missed_count_; }
  uint64_t cpu_ns() const { return cpu_ns_; }

 private:
  void Loop();
  void SampleAll();
  void SampleDevices();
  void SampleHost();
  void RefreshTree(int64_t now_ns);

  const int32_t root_;
  const int64_t interval_ns_;
  FoundDevices& devices_;
  RunLog& log_;
  const Clock clock_;
  const MemoryGroup group_;
  std::vector<int32_t> tree_;
  std::set<int32_t> known_members_;
  int64_t tree_time_ns_ = 0;  // when tree_ was looked up; 0: never
  uint64_t missed_count_ = 0;
  uint64_t cpu_ns_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace memstrata::measure
