#include "analysis/phases/gradient_passes.h"

#include <algorithm>
#include <map>

#include "base/flat_map.h"

namespace memstrata {
namespace {

constexpr size_t kFewestGradients = 4;
// What more of them leave for good is something else, as a graph that a loop keeps.
constexpr ptrdiff_t kMostLasting = 2;

class GradientPassFinder {
 public:
  explicit GradientPassFinder(const OrderEvents& events) : events_(events) {
    for (uint32_t i = 0; i < events_.size(); ++i) {
      if (events_[i].IsLargeAlloc() && events_[i].free_index == kNone) weights_[events_[i].size_bytes].push_back(i);
    }
  }

  std::vector<GradientPass> Run() {
    std::vector<GradientPass> found;
    for (uint32_t i = 0; i < events_.size() && looked_at_ <= kMostLooks * (events_.size() + 1); ++i) {
      const OrderEvent& event = events_[i];
      const bool is_root = event.is_alloc && event.size_bytes <= kFloatBytes && event.free_index != kNone;
      if (!is_root || event.free_index < i + 2 * kFewestGradients) continue;
      const GradientPass pass = CountGradients(i, event.free_index);
      if (pass.gradient_count > 0) found.push_back(pass);
    }
    std::sort(found.begin(), found.end(), [](const GradientPass& a, const GradientPass& b) {
      if (a.gradient_count != b.gradient_count) return a.gradient_count > b.gradient_count;
      return a.end - a.begin < b.end - b.begin;
    });
    std::map<uint32_t, GradientPass> passes;  // by begin
    for (const GradientPass& candidate : found) {
      const auto after = passes.upper_bound(candidate.end);
      if (after == passes.begin() || std::prev(after)->second.end < candidate.begin)
        passes.emplace(candidate.begin, candidate);
    }
    std::vector<GradientPass> in_order;
    for (const auto& [begin, pass] : passes) in_order.push_back(pass);
    const auto lasts = [](const GradientPass& pass) { return pass.lasting_count * 2 > pass.gradient_count; };
    if (std::count_if(in_order.begin(), in_order.end(), lasts) > kMostLasting) std::erase_if(in_order, lasts);
    return in_order;
  }

 private:
  // Weights of a size that were made before an event.
  size_t CountWeights(uint64_t size_bytes, uint32_t before) const {
    const auto found = weights_.find(size_bytes);
    if (found == weights_.end()) return 0;
    return static_cast<size_t>(std::lower_bound(found->second.begin(), found->second.end(), before) -
                               found->second.begin());
  }

  // The gradients that are made in the life of a root; none where what is made are not all gradients, or not only.
  GradientPass CountGradients(uint32_t begin, uint32_t end) {
    looked_at_ += end - begin;
    FlatMap<uint64_t, size_t> count_of_size;
    GradientPass pass = {begin, end};
    size_t other_count = 0;
    size_t rise_count = 0;  // a weight that comes later than the one before, of those that alone have their size
    size_t fall_count = 0;
    uint32_t last_weight = kNone;
    for (uint32_t i = begin; i < end; ++i) {
      if (!events_[i].IsLargeAlloc()) continue;
      const uint64_t size_bytes = events_[i].size_bytes;
      const size_t weight_count = CountWeights(size_bytes, begin);
      if (!events_[i].LivesBeyond(end)) {
        other_count += weight_count == 0 ? 1 : 0;
        continue;
      }
      if (++count_of_size[size_bytes] > weight_count) return {};
      ++pass.gradient_count;
      pass.lasting_count += events_[i].free_index == kNone ? 1 : 0;
      if (weight_count != 1) continue;
      const uint32_t weight = weights_.find(size_bytes)->second.front();
      (last_weight != kNone && weight > last_weight ? rise_count : fall_count) += 1;
      last_weight = weight;
    }
    const bool makes_others = other_count * 4 >= pass.gradient_count;
    const bool is_backward = pass.gradient_count >= kFewestGradients && makes_others && fall_count >= rise_count;
    return is_backward ? pass : GradientPass();
  }

  // Lives are looked at no longer than this for each event together.
  static constexpr uint64_t kMostLooks = 16;

  const OrderEvents& events_;
  FlatMap<uint64_t, std::vector<uint32_t>> weights_;  // by size, in order
  uint64_t looked_at_ = 0;
};

}  // namespace

std::vector<GradientPass> FindGradientPasses(const OrderEvents& events) { return GradientPassFinder(events).Run(); }

}  // namespace memstrata
