#include "measure/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/units.h"
#include "measure/process_tree.h"

namespace memstrata::measure {
namespace {

constexpr double kNsPerSecond = 1e9;
// Looking up the tree reads a file of every thread of the run, and asking for shared memory walks page tables: each
// takes at most one part in so many of a processor's time.
constexpr uint64_t kTreeShare = 1000;
constexpr uint64_t kProportionalShare = 500;
// A sample of the host reads a file of every process of the run. Where that takes more than this at each sample, it is
// done less often. At 10 samples a second it is one part in 200.
constexpr uint64_t kHostBudgetNs = 500'000;
constexpr int64_t kFirstStepNs = 2'000'000;  // between the first samples of a program

}  // namespace

Sampler::Sampler(int32_t root, double rate_hz, uint64_t thinning_bytes, FoundDevices& devices, RunLog& log)
    : root_(root),
      interval_ns_(static_cast<int64_t>(kNsPerSecond / rate_hz)),
      thinning_bytes_(thinning_bytes),
      next_thinning_bytes_(thinning_bytes),
      devices_(devices),
      log_(log) {}

Sampler::~Sampler() { Stop(); }

void Sampler::Start() {
  begin_ns_ = clock_.NowNs();
  log_.Machine(ReadMachineMemory().total_bytes, group_.LimitBytes());
  for (const auto& vendor : devices_.vendors) {
    for (const DeviceFacts& facts : vendor->facts()) log_.Device(facts);
  }
  SampleAll(true);
  thread_ = std::thread([this] { Loop(); });
}

void Sampler::Stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Sampler::NoteStart() {
  {
    const std::lock_guard lock(mutex_);
    has_started_ = true;
  }
  wake_.notify_one();
}

void Sampler::Loop() {
  int64_t step_ns = interval_ns_;
  int64_t due_ns = MonotonicNs() + step_ns;
  std::unique_lock lock(mutex_);
  while (!stops_) {
    const int64_t left_ns = due_ns - MonotonicNs();
    if (left_ns > 0) wake_.wait_for(lock, std::chrono::nanoseconds(left_ns), [this] { return stops_ || has_started_; });
    if (stops_) break;
    if (has_started_) {
      has_started_ = false;
      tree_due_ns_ = 0;
      step_ns = std::min(interval_ns_, kFirstStepNs);
      due_ns = MonotonicNs();
    }
    lock.unlock();
    SampleAll(step_ns < interval_ns_);
    lock.lock();
    const int64_t missed = std::max<int64_t>((MonotonicNs() - due_ns) / step_ns, 0);
    if (step_ns == interval_ns_) missed_count_ += static_cast<uint64_t>(missed);
    due_ns += (missed + 1) * step_ns;
    ThinOut();
    step_ns = std::min(interval_ns_, 2 * step_ns);
  }
  lock.unlock();
  SampleAll(true);
  cpu_ns_ = ThreadCpuNs();
}

// So the log of a run of any length stays a file that can be read.
void Sampler::ThinOut() {
  if (log_.size_bytes() < next_thinning_bytes_) return;
  if (next_thinning_bytes_ == thinning_bytes_) {
    log_.Missing({"samples at the full rate",
                  "The run is long: they came half as often each time that the log had grown by " +
                      FormatBytes(thinning_bytes_) + ".",
                  "Lower --rate to have them evenly spread."});
  }
  next_thinning_bytes_ += thinning_bytes_;
  interval_ns_ *= 2;
}

void Sampler::SampleAll(bool is_due) {
  SampleDevices();
  if (!is_due && MonotonicNs() < host_due_ns_) return;
  const uint64_t begin_ns = ThreadCpuNs();
  SampleHost();
  NoteCostOfHost(ThreadCpuNs() - begin_ns);
}

void Sampler::NoteCostOfHost(uint64_t cost_ns) {
  host_due_ns_ = 0;
  if (cost_ns <= kHostBudgetNs) return;
  const auto pause_ns = static_cast<int64_t>(static_cast<double>(interval_ns_) * static_cast<double>(cost_ns) /
                                             static_cast<double>(kHostBudgetNs));
  host_due_ns_ = MonotonicNs() + pause_ns - interval_ns_ / 2;  // at the sample that is next to it
  if (pause_ns < 2 * interval_ns_ || is_host_thinned_) return;
  is_host_thinned_ = true;
  log_.Missing({"samples of the host at the full rate",
                fmt::format("The run has {} processes: asking all of them takes {}, so they are asked less often.",
                            FormatCount(tree_.size()), FormatDuration(static_cast<int64_t>(cost_ns))),
                "Raise --rate."});
}

// Once a device: from when on its memory is not told. That of unified memory never is.
void Sampler::NoteSilence(uint32_t index, const DeviceFacts& facts) {
  if (!silent_devices_.insert(index).second) return;
  if (facts.is_unified) {
    log_.Missing({fmt::format("memory of device {}", index),
                  "It is the host's memory, which the vendor does not count for the device.",
                  "The host's figures and the frameworks' own say what there is."});
    return;
  }
  log_.Missing(
      {fmt::format("memory of device {}", index),
       fmt::format("The vendor's library did not tell it {} after the start: the device was lost, or may not be "
                   "asked. Other samples are whole.",
                   FormatDuration(clock_.NowNs() - begin_ns_)),
       "`memstrata doctor` says what the library answers now."});
}

void Sampler::SampleDevices() {
  uint32_t index = 0;
  for (const auto& vendor : devices_.vendors) {
    for (size_t device = 0; device < vendor->facts().size(); ++device, ++index) {
      std::optional<DeviceReading> reading = vendor->Read(device);
      if (!reading) {
        NoteSilence(index, vendor->facts()[device]);
        continue;
      }
      log_.Sample(
          DeviceSample{clock_.NowNs(), index, reading->used_bytes, reading->free_bytes, std::move(reading->processes)});
    }
  }
}

void Sampler::RefreshTree() {
  if (MonotonicNs() < tree_due_ns_) return;
  const uint64_t begin_ns = ThreadCpuNs();
  std::optional<std::vector<int32_t>> listed = ListedDescendants(root_);
  tree_ = listed ? *std::move(listed) : Descendants(root_);
  for (const int32_t process_id : tree_) {
    if (known_members_.insert(process_id).second) log_.Member(process_id);
  }
  tree_due_ns_ = MonotonicNs() + static_cast<int64_t>((ThreadCpuNs() - begin_ns) * kTreeShare);
}

// Of one process its resident memory is that. What several share is asked for when it is due.
void Sampler::AddProportional(HostSample& sample) {
  if (sample.process_count < 2) {
    sample.proportional_bytes = sample.resident_bytes;
    return;
  }
  sample.held_bytes.reset();
  if (MonotonicNs() < proportional_due_ns_) return;
  const uint64_t begin_ns = ThreadCpuNs();
  ProportionalMemory sum;
  for (const int32_t process_id : tree_) {
    const std::optional<ProportionalMemory> memory = ReadProportionalMemory(process_id);
    if (!memory) continue;  // it has ended, or belongs to someone else: the sum is a lower bound all the same
    sum.resident_bytes += memory->resident_bytes;
    sum.held_bytes += memory->held_bytes;
  }
  sample.proportional_bytes = sum.resident_bytes;
  sample.held_bytes = sum.held_bytes;
  proportional_due_ns_ = MonotonicNs() + static_cast<int64_t>((ThreadCpuNs() - begin_ns) * kProportionalShare);
}

// The kernel's highest mark of a process falls when it executes another program, whose mark is its own, and when
// somebody sets it back (/proc/PID/clear_refs), which hides what was before. The kernel counts by processor and adds up
// now and then, so that a mark may also waver a little.
void Sampler::WatchMark(int32_t process_id, uint64_t highest_bytes) {
  constexpr uint64_t kWaverBytes = uint64_t{4} << 20;
  Mark& mark = marks_[process_id];
  if (highest_bytes == mark.highest_bytes) return;
  const bool has_fallen = highest_bytes + std::max(kWaverBytes, mark.highest_bytes / 8) < mark.highest_bytes;
  const uint64_t address = ProgramAddress(process_id);
  if (has_fallen && address == mark.program_address) log_.MarkReset(process_id);
  mark = {has_fallen || address != mark.program_address ? highest_bytes : std::max(mark.highest_bytes, highest_bytes),
          address};
}

void Sampler::SampleHost() {
  RefreshTree();
  HostSample sample;
  sample.time_ns = clock_.NowNs();
  sample.held_bytes = 0;
  for (const int32_t process_id : tree_) {
    const std::optional<ProcessMemory> memory = ReadProcessMemory(process_id);
    if (!memory) continue;
    ++sample.process_count;
    sample.resident_bytes += memory->resident_bytes;
    sample.highest_resident_bytes = std::max(sample.highest_resident_bytes, memory->highest_resident_bytes);
    sample.swapped_bytes += memory->swapped_bytes;
    sample.locked_bytes += memory->locked_bytes;
    sample.pinned_bytes += memory->pinned_bytes;
    *sample.held_bytes += memory->held_bytes;
    sample.mapped_shared_bytes += memory->shared_bytes;
    WatchMark(process_id, memory->highest_resident_bytes);
  }
  AddProportional(sample);
  const MachineMemory machine = ReadMachineMemory();
  sample.available_bytes = machine.available_bytes;
  sample.machine_held_bytes = machine.held_bytes;
  sample.kernel_bytes = machine.kernel_bytes;
  sample.machine_shared_bytes = machine.shared_bytes;
  sample.group_bytes = group_.UsedBytes();
  log_.Sample(sample);
}

}  // namespace memstrata::measure
