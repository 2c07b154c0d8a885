#include "readers/xla/sizeless_order.h"

#include "base/flat_map.h"

namespace memstrata::xla {
namespace {

constexpr int64_t kMostCandidates = 1'000'000;

class Search {
 public:
  Search(std::span<const TiedEvent> events, uint64_t start_bytes, const std::function<uint64_t(uint64_t)>& live_size)
      : events_(events), used_(events.size()), level_(start_bytes) {
    for (const TiedEvent& event : events) sizes_.try_emplace(event.addr, live_size(event.addr));
  }

  // Depth first: takes the first event that can come next, and steps back where none can.
  std::vector<uint32_t> Run() {
    uint32_t candidate = 0;
    while (path_.size() < events_.size()) {
      while (candidate < events_.size() && !CanFollow(candidate)) ++candidate;
      if (budget_ < 0) return {};
      if (candidate < events_.size()) {
        Take(candidate);
        candidate = 0;
      } else if (path_.empty()) {
        return {};
      } else {
        candidate = TakeBack() + 1;
      }
    }
    std::vector<uint32_t> order;
    for (const Step& step : path_) order.push_back(step.event);
    return order;
  }

 private:
  struct Step {
    uint32_t event;
    uint64_t level_before;
    uint64_t size_before;  // of the block at the event's address
  };

  bool CanFollow(uint32_t i) {
    --budget_;
    if (used_[i]) return false;
    const TiedEvent& event = events_[i];
    const uint64_t live = sizes_.find(event.addr)->second;
    if (event.is_allocation) return live == 0 && level_ + event.size_bytes == event.after_bytes;
    return live != 0 && level_ - live == event.after_bytes;
  }

  void Take(uint32_t i) {
    const TiedEvent& event = events_[i];
    uint64_t& size = sizes_.find(event.addr)->second;
    path_.push_back({i, level_, size});
    used_[i] = true;
    size = event.is_allocation ? event.size_bytes : 0;
    level_ = event.after_bytes;
  }

  uint32_t TakeBack() {
    const Step step = path_.back();
    path_.pop_back();
    used_[step.event] = false;
    sizes_.find(events_[step.event].addr)->second = step.size_before;
    level_ = step.level_before;
    return step.event;
  }

  std::span<const TiedEvent> events_;
  std::vector<bool> used_;
  FlatMap<uint64_t, uint64_t> sizes_;  // of the live block by address, 0 = none
  std::vector<Step> path_;
  uint64_t level_;
  int64_t budget_ = kMostCandidates;
};

}  // namespace

std::vector<uint32_t> OrderWithoutSizes(std::span<const TiedEvent> events, uint64_t start_bytes,
                                        const std::function<uint64_t(uint64_t)>& live_size) {
  return Search(events, start_bytes, live_size).Run();
}

}  // namespace memstrata::xla
