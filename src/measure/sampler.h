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
  /// `thinning_bytes`: each time that the log has grown by so much, samples come half as often.
  Sampler(int32_t root, double rate_hz, uint64_t thinning_bytes, FoundDevices& devices, RunLog& log);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// Writes what the devices are, takes the first sample, and goes on in a thread of its own.
  void Start();
  /// The programs run now: the next samples come at once and close together, so that a short program is met.
  void NoteStart();
  /// Takes the last sample and ends the thread.
  void Stop();

  const Clock& clock() const { return clock_; }
  /// Samples that were due while an earlier one still ran. After Stop().
  uint64_t missed_count() const { return missed_count_; }
  uint64_t cpu_ns() const { return cpu_ns_; }

 private:
  void Loop();
  /// `is_due`: host and devices both, whatever that costs.
  void SampleAll(bool is_due);
  void SampleDevices();
  void SampleHost();
  void ThinOut();
  void NoteSilence(uint32_t index, const DeviceFacts& facts);
  void RefreshTree();
  void AddProportional(HostSample& sample);
  void NoteCostOfHost(uint64_t cost_ns);
  void WatchMark(int32_t process_id, uint64_t highest_bytes);

  const int32_t root_;
  int64_t interval_ns_;
  const uint64_t thinning_bytes_;
  uint64_t next_thinning_bytes_;
  FoundDevices& devices_;
  RunLog& log_;
  const Clock clock_;
  const MemoryGroup group_;
  std::set<uint32_t> silent_devices_;  // whose memory was not told at some sample
  std::vector<int32_t> tree_;
  std::set<int32_t> known_members_;
  struct Mark {
    uint64_t highest_bytes = 0;
    uint64_t program_address = 0;
  };
  std::map<int32_t, Mark> marks_;    // of each process at its last sample
  int64_t tree_due_ns_ = 0;          // when tree_ is looked up next
  int64_t proportional_due_ns_ = 0;  // when shared memory is asked for next
  int64_t host_due_ns_ = 0;          // when the host is asked next
  bool is_host_thinned_ = false;
  int64_t begin_ns_ = 0;
  uint64_t missed_count_ = 0;
  uint64_t cpu_ns_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stops_ = false;
  bool has_started_ = false;  // programs, since the last sample
  std::thread thread_;
};

}  // namespace memstrata::measure
