#include "analysis/category/weight_copies.h"

#include <algorithm>

#include "analysis/category/parameter_sizes.h"

namespace memstrata {
namespace {

class CopyMarker {
 public:
  CopyMarker(const Store& store, const Heap& heap, const Timeline& timeline, std::vector<Category>& categories)
      : store_(store), table_(store.allocations), heap_(heap), timeline_(timeline), categories_(categories) {}

  void Run() {
    if (std::find(categories_.begin(), categories_.end(), Category::kAutocastCopy) == categories_.end()) return;
    parameter_counts_ = CountParameterSizes(store_, heap_, categories_);
    std::vector<uint32_t> made;  // by one forward
    bool in_forward = false;
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      if (table_.alloc_seq[row] == kNone) continue;
      const Phase phase = timeline_.phase_of_event[table_.alloc_seq[row]];
      if (IsForward(phase)) {
        if (!in_forward) made.clear();
        made.push_back(row);
      } else if (in_forward) {
        MarkIn(made);
      }
      in_forward = IsForward(phase);
    }
    if (in_forward) MarkIn(made);
  }

 private:
  Category& Of(uint32_t row) { return categories_[row - heap_.allocations.begin]; }

  bool MayBeCopy(const std::vector<uint32_t>& made, size_t i) {
    if (Of(made[i]) != Category::kActivation || i + 1 == made.size()) return false;
    const StackId stack = table_.stack[made[i]];
    return stack.value != 0 && table_.stack[made[i + 1]] == stack &&
           parameter_counts_.contains(2 * table_.size_bytes[made[i]]);
  }

  // Layers that are called from one line make the copy of a weight and the result alike, and others may be as large.
  // The copy of the bias, which is dropped with the others, stands right before the copy of the weight only.
  bool IsBehindBias(const std::vector<uint32_t>& made, size_t i) {
    if (i == 0 || !MayBeCopy(made, i) || table_.stack[made[i - 1]] != table_.stack[made[i]]) return false;
    const auto is_copy = [&](size_t k) { return Of(made[k]) == Category::kAutocastCopy; };
    return is_copy(i - 1) && (i == 1 || !is_copy(i - 2));
  }

  void MarkIn(const std::vector<uint32_t>& made) {
    std::vector<uint32_t> behind_bias;
    FlatMap<uint64_t, uint32_t> counts_behind_bias;
    FlatMap<uint64_t, uint32_t> counts;  // of copies and of what may be one, by size
    for (size_t i = 0; i < made.size(); ++i) {
      const uint64_t size = table_.size_bytes[made[i]];
      if (Of(made[i]) == Category::kAutocastCopy || MayBeCopy(made, i)) ++counts[size];
      if (!IsBehindBias(made, i)) continue;
      behind_bias.push_back(made[i]);
      ++counts_behind_bias[size];
    }
    for (size_t i = 0; i < made.size(); ++i) {
      if (!MayBeCopy(made, i)) continue;
      const uint64_t size = table_.size_bytes[made[i]];
      if (counts[size] <= parameter_counts_[2 * size]) Of(made[i]) = Category::kAutocastCopy;
    }
    for (const uint32_t row : behind_bias) {
      const uint64_t size = table_.size_bytes[row];
      if (counts_behind_bias[size] <= parameter_counts_[2 * size]) Of(row) = Category::kAutocastCopy;
    }
  }

  const Store& store_;
  const AllocationTable& table_;
  const Heap& heap_;
  const Timeline& timeline_;
  std::vector<Category>& categories_;
  FlatMap<uint64_t, uint32_t> parameter_counts_;  // by size
};

}  // namespace

void MarkWeightCopies(const Store& store, const Heap& heap, const Timeline& timeline,
                      std::vector<Category>& categories) {
  CopyMarker(store, heap, timeline, categories).Run();
}

}  // namespace memstrata
