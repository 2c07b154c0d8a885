#include "index/time_axis.h"

#include <algorithm>

namespace memstrata {

TimeAxis::TimeAxis(const Store& store, const Heap& heap) {
  if (!heap.capabilities.has_time || store.events.time_ns.empty() || heap.events.size() == 0) return;
  const auto recorded = store.events.time_ns.span().subspan(heap.events.begin, heap.events.size());
  const auto first = std::find_if(recorded.begin(), recorded.end(), [](int64_t time_ns) { return time_ns != kNoTime; });
  if (first == recorded.end()) return;
  begin_ns_ = *first;
  if (first == recorded.begin() && std::is_sorted(recorded.begin(), recorded.end())) {
    times_ns_ = recorded;  // kNoTime is below every time, so a sorted column without it in front has none
    return;
  }
  repaired_ns_.Reserve(recorded.size());
  int64_t latest_ns = begin_ns_;
  for (const int64_t time_ns : recorded) {
    latest_ns = std::max(latest_ns, time_ns);
    repaired_ns_.PushBack(latest_ns);
  }
  times_ns_ = repaired_ns_.span();
}

std::optional<int64_t> TimeAxis::OffsetAt(uint32_t seq) const {
  if (seq >= times_ns_.size()) return std::nullopt;
  return times_ns_[seq] - begin_ns_;
}

std::optional<int64_t> TimeAxis::DurationNs() const {
  if (times_ns_.empty()) return std::nullopt;
  return times_ns_.back() - begin_ns_;
}

uint32_t TimeAxis::FirstAtOrAfter(double offset_ns) const {
  const auto reached = [&](int64_t time_ns, double wanted_ns) {
    return static_cast<double>(time_ns - begin_ns_) < wanted_ns;
  };
  return static_cast<uint32_t>(std::lower_bound(times_ns_.begin(), times_ns_.end(), offset_ns, reached) -
                               times_ns_.begin());
}

}  // namespace memstrata
