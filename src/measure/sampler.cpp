#include "measure/sampler.h"

#include <algorithm>
#include <chrono>

#include "measure/process_tree.h"

namespace memstrata::measure {
namespace {

constexpr double kNsPerSecond = 1e9;
// The tree is looked up less often than its memory is read: that reads a file of every process of the machine.
constexpr int64_t kTreeIntervalNs = 500'000'000;

}  // namespace

Sampler::Sampler(int32_t root, double rate_hz, FoundDevices& devices, RunLog& log)
    : root_(root), interval_ns_(static_cast<int64_t>(kNsPerSecond / rate_hz)), devices_(devices), log_(log) {}

Sampler::~Sampler() { Stop(); }

void Sampler::Start() {
  log_.Machine(ReadMachineMemory().total_bytes, group_.LimitBytes());
  for (const auto& vendor : devices_.vendors) {
    for (const DeviceFacts& facts : vendor->facts()) log_.Device(facts);
  }
  SampleAll();
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

void Sampler::Loop() {
  int64_t due_ns = MonotonicNs() + interval_ns_;
  std::unique_lock lock(mutex_);
  while (!stops_) {
    const int64_t left_ns = due_ns - MonotonicNs();
    if (left_ns > 0 && wake_.wait_for(lock, std::chrono::nanoseconds(left_ns), [this] { return stops_; })) break;
    lock.unlock();
    SampleAll();
    lock.lock();
    const int64_t late_ns = MonotonicNs() - due_ns;
    const int64_t missed = late_ns / interval_ns_;
    missed_count_ += static_cast<uint64_t>(std::max<int64_t>(missed, 0));
    due_ns += (std::max<int64_t>(missed, 0) + 1) * interval_ns_;
  }
  lock.unlock();
  SampleAll();
  cpu_ns_ = ThreadCpuNs();
}

void Sampler::SampleAll() {
  SampleDevices();
  SampleHost();
}

void Sampler::SampleDevices() {
  uint32_t index = 0;
  for (const auto& vendor : devices_.vendors) {
    for (size_t device = 0; device < vendor->facts().size(); ++device, ++index) {
      std::optional<DeviceReading> reading = vendor->Read(device);
      if (!reading) continue;
      log_.Sample(
          DeviceSample{clock_.NowNs(), index, reading->used_bytes, reading->free_bytes, std::move(reading->processes)});
    }
  }
}

void Sampler::RefreshTree(int64_t now_ns) {
  if (tree_time_ns_ != 0 && now_ns - tree_time_ns_ < kTreeIntervalNs) return;
  tree_time_ns_ = now_ns;
  tree_ = Descendants(root_);
  for (const int32_t process_id : tree_) {
    if (known_members_.insert(process_id).second) log_.Member(process_id);
  }
}

void Sampler::SampleHost() {
  const int64_t now_ns = clock_.NowNs();
  RefreshTree(now_ns);
  HostSample sample;
  sample.time_ns = now_ns;
  for (const int32_t process_id : tree_) {
    const std::optional<ProcessMemory> memory = ReadProcessMemory(process_id);
    if (!memory) continue;
    ++sample.process_count;
    sample.resident_bytes += memory->resident_bytes;
    sample.highest_resident_bytes = std::max(sample.highest_resident_bytes, memory->highest_resident_bytes);
    sample.swapped_bytes += memory->swapped_bytes;
    sample.locked_bytes += memory->locked_bytes;
    sample.pinned_bytes += memory->pinned_bytes;
  }
  sample.available_bytes = ReadMachineMemory().available_bytes;
  sample.group_bytes = group_.UsedBytes();
  log_.Sample(sample);
}

}  // namespace memstrata::measure
