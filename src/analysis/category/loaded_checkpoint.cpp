#include "analysis/category/loaded_checkpoint.h"

#include <algorithm>
#include <span>

#include "analysis/category/parameter_sizes.h"
#include "analysis/frames/stacks_through.h"
#include "analysis/phases/order_events.h"
#include "base/flat_map.h"

namespace memstrata {
namespace {

using Rows = std::span<const uint32_t>;
using SizeCounts = FlatMap<uint64_t, uint32_t>;

constexpr uint32_t kMostStates = 3;  // of a parameter
// A checkpoint leaves out buffers that are computed anew: one block of so many.
constexpr size_t kMissingShare = 8;

uint32_t CountOf(const SizeCounts& counts, uint64_t size_bytes) {
  const auto found = counts.find(size_bytes);
  return found == counts.end() ? 0 : found->second;
}

class CheckpointFinder {
 public:
  CheckpointFinder(const Store& store, const Heap& heap, const Timeline& timeline,
                   const std::vector<Category>& categories)
      : store_(store), table_(store.allocations), heap_(heap), timeline_(timeline), categories_(categories) {}

  LoadedCheckpoint Run() {
    if (timeline_.steps.empty()) return {};
    CountGradients();
    if (gradient_count_ < 2) return {};
    Collect();
    if (timeline_.basis != PhaseBasis::kStack) {
      if (!makes_states_) SplitByOrder();
    } else if (!loaded_.empty() && Covers(CountSizes(weights_), gradients_)) {
      SplitByStack();
    }
    std::sort(result_.weight_rows.begin(), result_.weight_rows.end());
    return std::move(result_);
  }

 private:
  Category Of(uint32_t row) const { return categories_[row - heap_.allocations.begin]; }

  void CountGradients() {
    gradients_ = CountSizesInStep(store_, heap_, timeline_, categories_, Category::kGradient);
    for (uint64_t scalar_bytes = 0; scalar_bytes <= kScalarBytes; ++scalar_bytes) gradients_.erase(scalar_bytes);
    for (const auto& [size, count] : gradients_) gradient_count_ += count;
  }

  // By stack: whether code that reads a checkpoint onto the device made the block.
  std::vector<bool> FindLoaders() const {
    return FindStacksThrough(store_, [](std::string_view file, std::string_view) {
      return file.find("torch/serialization.py") != std::string_view::npos ||
             file.find("safetensors/torch.py") != std::string_view::npos;
    });
  }

  static bool MayBeLoaded(Category category) {
    return category == Category::kParameter || category == Category::kOptimizerState || category == Category::kUnknown;
  }

  void Collect() {
    const std::vector<bool> loads = FindLoaders();
    const bool has_stacks = timeline_.basis == PhaseBasis::kStack;
    const auto forward = std::find_if(timeline_.phases.begin(), timeline_.phases.end(),
                                      [](const PhaseSpan& span) { return IsForward(span.phase); });
    const uint32_t first_forward_seq = forward == timeline_.phases.end() ? kNone : forward->begin_seq;
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      const uint32_t seq = table_.alloc_seq[row];
      if (seq == kNone || table_.size_bytes[row] <= kScalarBytes) continue;
      const Phase phase = timeline_.phase_of_event[seq];
      if (phase == Phase::kOptimizer && Of(row) == Category::kOptimizerState) makes_states_ = true;
      const bool stays = table_.free_requested_seq[row] >= timeline_.steps.back().begin_seq;
      if (!stays || seq >= first_forward_seq) continue;
      if (has_stacks && loads[table_.stack[row].value]) {
        loaded_.push_back(row);
      } else if (has_stacks && Of(row) == Category::kParameter) {
        weights_.push_back(row);
      } else if (!has_stacks && phase == Phase::kLoad && MayBeLoaded(Of(row))) {
        loaded_.push_back(row);
      }
    }
  }

  SizeCounts CountSizes(Rows rows) const {
    SizeCounts counts;
    for (const uint32_t row : rows) ++counts[table_.size_bytes[row]];
    return counts;
  }

  static bool Covers(const SizeCounts& all, const SizeCounts& part) {
    return std::all_of(part.begin(), part.end(),
                       [&](const auto& of_size) { return CountOf(all, of_size.first) >= of_size.second; });
  }

  // States a parameter, if the blocks are as many of each parameter that is trained; else 0.
  uint32_t StatesOfParameter(Rows rows) const {
    if (rows.empty() || rows.size() % gradient_count_ != 0) return 0;
    const auto per_parameter = static_cast<uint32_t>(rows.size() / gradient_count_);
    const SizeCounts counts = CountSizes(rows);
    const bool fits = std::all_of(gradients_.begin(), gradients_.end(), [&](const auto& of_size) {
      return CountOf(counts, of_size.first) == per_parameter * of_size.second;
    });
    return fits && per_parameter <= kMostStates ? per_parameter : 0;
  }

  // How many of the rows, from the first on, have the sizes of the weights; 0 if they are not nearly all weights.
  template <typename Iterator>
  size_t LengthOfCopy(Iterator begin, Iterator end) const {
    SizeCounts left = CountSizes(weights_);
    SizeCounts found;
    size_t length = 0;
    for (; begin != end; ++begin, ++length) {
      const uint64_t size = table_.size_bytes[*begin];
      if (CountOf(left, size) == 0) break;
      --left[size];
      ++found[size];
    }
    const bool is_copy = length + weights_.size() / kMissingShare >= weights_.size() && Covers(found, gradients_);
    return is_copy ? length : 0;
  }

  // Of several copies the last may be found first.
  void AddCopy(Rows rows) { result_.weight_rows.insert(result_.weight_rows.end(), rows.begin(), rows.end()); }

  void SplitByStack() {
    Rows rest = loaded_;
    // A checkpoint holds the model first or last.
    while (!rest.empty() && !AreStates(rest)) {
      if (const size_t first = LengthOfCopy(rest.begin(), rest.end()); first > 0) {
        AddCopy(rest.first(first));
        rest = rest.subspan(first);
      } else if (const size_t last = LengthOfCopy(rest.rbegin(), rest.rend()); last > 0) {
        AddCopy(rest.last(last));
        rest = rest.first(rest.size() - last);
      } else {
        return;
      }
    }
    result_.state_rows.assign(rest.begin(), rest.end());
  }

  // A model without buffers and its states one by one have the sizes of two copies; then the first is the model's.
  bool AreStates(Rows rows) const {
    const uint32_t per_parameter = makes_states_ ? 0 : StatesOfParameter(rows);
    return per_parameter == 1 || (per_parameter > 1 && LengthOfCopy(rows.begin(), rows.end()) == 0);
  }

  // Without stacks: the weights, a second copy of them or none, and the states.
  void SplitByOrder() {
    for (uint32_t per_parameter = 1; per_parameter <= kMostStates; ++per_parameter) {
      const size_t state_count = per_parameter * gradient_count_;
      if (state_count >= loaded_.size()) return;
      const Rows head = Rows(loaded_).first(loaded_.size() - state_count);
      const Rows tail = Rows(loaded_).last(state_count);
      if (StatesOfParameter(tail) != per_parameter) continue;
      const Rows model = head.first(head.size() / 2);
      const Rows copy = head.last(head.size() / 2);
      const SizeCounts of_model = CountSizes(model);
      const bool is_twice = head.size() % 2 == 0 && Covers(of_model, gradients_) && Covers(of_model, CountSizes(copy));
      const bool is_once =
          head.size() <= gradient_count_ + gradient_count_ / kMissingShare && Covers(CountSizes(head), gradients_);
      if (!is_twice && !is_once) continue;
      if (is_twice) AddCopy(copy);
      result_.state_rows.assign(tail.begin(), tail.end());
      return;
    }
  }

  const Store& store_;
  const AllocationTable& table_;
  const Heap& heap_;
  const Timeline& timeline_;
  const std::vector<Category>& categories_;
  SizeCounts gradients_;
  size_t gradient_count_ = 0;
  bool makes_states_ = false;      // in an update
  std::vector<uint32_t> weights_;  // of the model; with stacks only
  std::vector<uint32_t> loaded_;
  LoadedCheckpoint result_;
};

}  // namespace

LoadedCheckpoint FindLoadedCheckpoint(const Store& store, const Heap& heap, const Timeline& timeline,
                                      const std::vector<Category>& categories) {
  return CheckpointFinder(store, heap, timeline, categories).Run();
}

void MarkLoadedCheckpoint(const Store& store, const Heap& heap, const Timeline& timeline,
                          std::vector<Category>& categories) {
  const LoadedCheckpoint found = FindLoadedCheckpoint(store, heap, timeline, categories);
  for (const uint32_t row : found.weight_rows) categories[row - heap.allocations.begin] = Category::kUnknown;
  for (const uint32_t row : found.state_rows) categories[row - heap.allocations.begin] = Category::kOptimizerState;
}

}  // namespace memstrata
