#include "measure/clock.h"

#include <ctime>

namespace memstrata::measure {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

int64_t Read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

int64_t OffsetNs() { return Read(CLOCK_REALTIME) - Read(CLOCK_MONOTONIC); }

}  // namespace

int64_t MonotonicNs() { return Read(CLOCK_MONOTONIC); }
uint64_t ThreadCpuNs() { return static_cast<uint64_t>(Read(CLOCK_THREAD_CPUTIME_ID)); }

Clock::Clock() : offset_ns_(OffsetNs()) {}
int64_t Clock::DriftNs() const { return OffsetNs() - offset_ns_; }

}  // namespace memstrata::measure
