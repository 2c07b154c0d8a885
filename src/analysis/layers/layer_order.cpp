#include "analysis/layers/layer_order.h"

#include <algorithm>
#include <map>

#include "analysis/frames/fsdp_stacks.h"
#include "base/flat_map.h"

namespace memstrata {
namespace {

/// One backward, and the layers of the forward before it.
struct Pass {
  uint32_t forward_begin_seq = kNone;
  uint32_t begin_seq = 0;
  uint32_t end_seq = 0;
  std::vector<uint32_t> layers;        // scopes in the order in which they were called
  FlatMap<uint32_t, uint32_t> result;  // layer → what its last operation made, if the backward gives it back
};

/// Sizes of the gradients of each layer of one loop, in the order in which a backward made them.
using GradientSizes = std::map<uint32_t, std::vector<uint64_t>>;  // number of the layer → sizes

/// What is known while a backward is walked.
struct BackwardLabels {
  std::vector<uint32_t> made;               // rows since blocks of the forward were given back
  uint32_t youngest = kNone;                // of the blocks of the forward that are given back now
  uint32_t layer_before = 0;                // of those given back before
  FlatMap<uint32_t, uint32_t> layer_after;  // row made → layer of what was given back after it
  GradientSizes sizes;
  std::vector<uint32_t> gradients;  // those that a layer seems to own
};

class LayerFinder {
 public:
  LayerFinder(const Store& store, const Heap& heap, const Timeline& timeline, std::span<const Category> categories,
              const ModuleCalls& calls)
      : table_(store.allocations),
        store_(store),
        heap_(heap),
        timeline_(timeline),
        categories_(categories),
        calls_(calls),
        is_of_fsdp_(FindFsdpStacks(store)),
        layer_(heap.allocations.size(), 0) {}

  std::vector<uint32_t> Run() {
    for (size_t i = 0; i < layer_.size(); ++i) layer_[i] = calls_.LayerOf(calls_.scope_of_row[i]);
    for (const Pass& pass : FindPasses()) {
      NumberRecomputes(pass);
      LabelBackward(pass);
    }
    for (const auto& [loop, sizes] : gradient_sizes_) LabelLasting(sizes, layer_of_[loop]);
    return std::move(layer_);
  }

 private:
  uint32_t& Of(uint32_t row) { return layer_[row - heap_.allocations.begin]; }
  Category CategoryOf(uint32_t row) const { return categories_[row - heap_.allocations.begin]; }
  /// The allocation that an event makes, kNone for other events.
  uint32_t Made(uint32_t seq) const {
    const uint32_t row = heap_.events.begin + seq;
    return store_.events.kind[row] == EventKind::kAlloc ? store_.events.allocation[row] : kNone;
  }

  std::vector<Pass> FindPasses() {
    std::vector<Pass> passes;
    Pass pass;
    bool is_open = false;
    for (const PhaseSpan& span : timeline_.phases) {
      if (IsBackward(span.phase)) {
        if (!is_open) pass.begin_seq = span.begin_seq;
        pass.end_seq = span.end_seq;
        is_open = true;
        continue;
      }
      if (is_open) passes.push_back(std::move(pass));
      if (is_open || span.phase == Phase::kOptimizer) pass = {};
      is_open = false;
      pass.forward_begin_seq = std::min(pass.forward_begin_seq, span.begin_seq);
      CollectLayers(span, pass.layers);
    }
    if (is_open) passes.push_back(std::move(pass));
    for (Pass& found : passes) FindResults(found);
    return passes;
  }

  // An operation makes its result first, then what else it saves.
  void FindResults(Pass& pass) {
    uint32_t first = kNone;  // of the last operation
    for (uint32_t seq = pass.forward_begin_seq; seq < pass.begin_seq; ++seq) {
      const uint32_t row = Made(seq);
      if (row == kNone || Of(row) == 0) continue;
      if (first == kNone || table_.stack[first] != table_.stack[row] || Of(first) != Of(row)) first = row;
      const auto is_kept = [&](uint32_t block) { return table_.free_requested_seq[block] >= pass.begin_seq; };
      if (is_kept(row)) pass.result[Of(row)] = is_kept(first) ? first : kNone;
    }
  }

  void CollectLayers(const PhaseSpan& span, std::vector<uint32_t>& layers) {
    for (uint32_t seq = span.begin_seq; seq < span.end_seq; ++seq) {
      const uint32_t row = Made(seq);
      const uint32_t layer = row == kNone ? 0 : Of(row);
      if (layer != 0 && (layers.empty() || layers.back() != layer)) layers.push_back(layer);
    }
  }

  // The n-th recompute from the end is of the n-th call of the one loop that was called as often.
  void NumberRecomputes(const Pass& pass) {
    std::map<uint32_t, std::vector<uint32_t>> loops;  // loop node → scopes of its calls
    for (const uint32_t layer : pass.layers) {
      std::vector<uint32_t>& calls = loops[calls_.scopes[layer].node];
      if (calls.size() == calls_.scopes[layer].index) calls.push_back(layer);
    }
    const std::vector<std::vector<uint32_t>> recomputes = FindRecomputes(pass);
    const auto is_equal = [&](const auto& loop) { return loop.second.size() == recomputes.size(); };
    const auto loop = std::find_if(loops.begin(), loops.end(), is_equal);
    const bool is_one = std::count_if(loops.begin(), loops.end(), is_equal) == 1;
    for (size_t i = 0; i < recomputes.size(); ++i) {
      for (const uint32_t row : recomputes[i]) Of(row) = is_one ? loop->second[recomputes.size() - 1 - i] : 0;
    }
  }

  // Blocks of each; what the backward allocates lies between two of them.
  std::vector<std::vector<uint32_t>> FindRecomputes(const Pass& pass) const {
    std::vector<std::vector<uint32_t>> recomputes;
    bool is_open = false;
    for (uint32_t seq = pass.begin_seq; seq < pass.end_seq; ++seq) {
      const uint32_t row = Made(seq);
      if (row == kNone) continue;
      const bool is_recompute = timeline_.phase_of_event[seq] == Phase::kRecompute;
      if (is_recompute && !is_open) recomputes.emplace_back();
      if (is_recompute) recomputes.back().push_back(row);
      is_open = is_recompute;
    }
    return recomputes;
  }

  void LabelBackward(const Pass& pass) {
    BackwardLabels labels;
    for (uint32_t seq = pass.begin_seq; seq < pass.end_seq; ++seq) {
      if (const uint32_t row = Made(seq); row != kNone) {
        FinishRun(pass, labels);
        if (timeline_.phase_of_event[seq] == Phase::kBackward) labels.made.push_back(row);
        continue;
      }
      const uint32_t event = heap_.events.begin + seq;
      const uint32_t row = store_.events.allocation[event];
      if (store_.events.kind[event] != EventKind::kFreeRequested || row == kNone) continue;
      if (IsSaved(row, pass)) {
        const bool is_younger = labels.youngest == kNone || table_.alloc_seq[row] > table_.alloc_seq[labels.youngest];
        if (is_younger) labels.youngest = row;
      } else {
        FollowCast(row, labels);
      }
    }
    FinishRun(pass, labels);
    ProveGradients(labels);
  }

  // Blocks of the forward given back in a row are of the layer of the one made last: a layer also gives back its input,
  // which the layer before made.
  void FinishRun(const Pass& pass, BackwardLabels& labels) {
    if (labels.youngest == kNone) return;
    const uint32_t layer = LayerOfFree(labels.youngest, pass);
    for (const uint32_t row : labels.made) {
      labels.layer_after[row] = layer;
      if (is_of_fsdp_[table_.stack[row].value]) {
        Of(row) = 0;  // FSDP reduces the gradients of a layer while the backward of the next one runs
      } else if (CategoryOf(row) == Category::kGradient) {
        AddGradient(row, layer, labels);
      } else if (layer == labels.layer_before) {
        Of(row) = layer;
      }
    }
    labels.made.clear();
    labels.layer_before = layer;
    labels.youngest = kNone;
  }

  void AddGradient(uint32_t row, uint32_t layer, BackwardLabels& labels) {
    Of(row) = layer;
    if (layer == 0) return;
    labels.sizes[layer].push_back(table_.size_bytes[row]);
    labels.gradients.push_back(row);
  }

  // Under autocast a gradient is cast after its operation gave back what it had saved: it belongs to where the one of
  // half the size was made, which the cast gives back.
  void FollowCast(uint32_t row, BackwardLabels& labels) {
    const auto layer = labels.layer_after.find(row);
    if (labels.made.empty() || layer == labels.layer_after.end()) return;
    const uint32_t gradient = labels.made.back();
    if (CategoryOf(gradient) != Category::kGradient || table_.size_bytes[gradient] != 2 * table_.size_bytes[row])
      return;
    labels.made.pop_back();
    AddGradient(gradient, layer->second, labels);
  }

  // The result of a layer was saved by the next one.
  uint32_t LayerOfFree(uint32_t row, const Pass& pass) const {
    const uint32_t layer = layer_[row - heap_.allocations.begin];
    const auto last = pass.result.find(layer);
    if (last == pass.result.end() || last->second != row) return layer;
    const auto at = std::find(pass.layers.begin(), pass.layers.end(), layer);
    return at == pass.layers.end() || at + 1 == pass.layers.end() ? 0 : *(at + 1);
  }

  // Made by a forward or a recompute of it.
  bool IsSaved(uint32_t row, const Pass& pass) const {
    const uint32_t seq = table_.alloc_seq[row];
    if (seq == kNone) return false;
    const Phase phase = timeline_.phase_of_event[seq];
    return phase == Phase::kRecompute || (seq < pass.begin_seq && IsForward(phase));
  }

  void ProveGradients(const BackwardLabels& labels) {
    std::map<uint32_t, GradientSizes> by_loop;
    for (const auto& [layer, of_layer] : labels.sizes)
      by_loop[calls_.scopes[layer].node][calls_.scopes[layer].index] = of_layer;
    for (const auto& [loop, of_layers] : by_loop) {
      const bool is_equal = std::all_of(of_layers.begin(), of_layers.end(), [&](const auto& of_layer) {
        return of_layer.second == of_layers.begin()->second;
      });
      if (is_equal && of_layers.size() > 1) {
        gradient_sizes_.try_emplace(loop, of_layers);
        for (const auto& [layer, unused] : labels.sizes) {
          if (calls_.scopes[layer].node == loop) layer_of_[loop][calls_.scopes[layer].index] = layer;
        }
        continue;
      }
      for (const uint32_t row : labels.gradients) {
        if (calls_.scopes[Of(row)].node == loop) Of(row) = 0;
      }
    }
  }

  // Parameters of the layers and states of the optimizer.
  void LabelLasting(const GradientSizes& sizes, const std::map<uint32_t, uint32_t>& layers) {
    std::vector<uint64_t> part = sizes.begin()->second;
    std::sort(part.begin(), part.end());
    const std::vector<uint32_t> parameters = RowsOf(Category::kParameter, part);
    const std::vector<uint32_t> states = RowsOf(Category::kOptimizerState, part);
    const std::vector<size_t> begins = FindStretches(parameters, part, 1, layers.size());
    if (begins.size() == 1) LabelStretch(parameters, begins[0], part.size(), layers);
    if (FollowParameters(parameters, states)) return;
    constexpr size_t kMostStates = 3;
    for (size_t states_each = 1; states_each <= kMostStates; ++states_each) {
      const std::vector<size_t> found = FindStretches(states, part, states_each, layers.size());
      // Of several the one that as many stand before as before the parameters.
      const bool is_like = begins.size() == 1 && states.size() == parameters.size() * states_each;
      const size_t like = is_like ? begins[0] * states_each : SIZE_MAX;
      const bool has_like = std::find(found.begin(), found.end(), like) != found.end();
      if (found.size() == 1 || has_like)
        LabelStretch(states, has_like ? like : found[0], part.size() * states_each, layers);
    }
  }

  // Made during the recording, with a size that is in `part`.
  std::vector<uint32_t> RowsOf(Category category, const std::vector<uint64_t>& part) const {
    std::vector<uint32_t> rows;
    for (uint32_t row = heap_.allocations.begin; row < heap_.allocations.end; ++row) {
      const bool is_sized = std::binary_search(part.begin(), part.end(), table_.size_bytes[row]);
      if (CategoryOf(row) == category && table_.alloc_seq[row] != kNone && is_sized) rows.push_back(row);
    }
    return rows;
  }

  // Every state has the size of its parameter, the states of one parameter come together.
  bool FollowParameters(const std::vector<uint32_t>& parameters, const std::vector<uint32_t>& states) {
    if (parameters.empty() || states.size() < parameters.size() || states.size() % parameters.size() != 0) return false;
    const size_t states_each = states.size() / parameters.size();
    for (size_t i = 0; i < states.size(); ++i) {
      if (table_.size_bytes[states[i]] != table_.size_bytes[parameters[i / states_each]]) return false;
    }
    for (size_t i = 0; i < states.size(); ++i) Of(states[i]) = Of(parameters[i / states_each]);
    return true;
  }

  // Blocks of equal size and call depth are alike: the parts of a module are moved to the device at one depth.
  bool AreAlike(uint32_t a, uint32_t b) const {
    const StackTable& stacks = store_.stacks.stacks();
    return table_.size_bytes[a] == table_.size_bytes[b] &&
           stacks.depth[table_.stack[a].value] == stacks.depth[table_.stack[b].value];
  }

  // Whether the `length` blocks from `begin` on have the sizes of `part`, each `count` times.
  bool HasSizes(const std::vector<uint32_t>& rows, size_t begin, const std::vector<uint64_t>& part,
                size_t count) const {
    std::vector<uint64_t> sizes;
    for (size_t i = begin; i < begin + part.size() * count; ++i) sizes.push_back(table_.size_bytes[rows[i]]);
    std::sort(sizes.begin(), sizes.end());
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] != part[i / count]) return false;
    }
    return true;
  }

  // Where a part with the sizes of `part`, each `count` times, stands `layer_count` times in a row.
  std::vector<size_t> FindStretches(const std::vector<uint32_t>& rows, const std::vector<uint64_t>& part, size_t count,
                                    size_t layer_count) const {
    std::vector<size_t> begins;
    const size_t length = part.size() * count;
    const size_t repeated = length * (layer_count - 1);
    size_t alike = 0;  // blocks in a row, up to here, that are like the ones one part later
    for (size_t i = 0; i + length < rows.size(); ++i) {
      alike = AreAlike(rows[i], rows[i + length]) ? alike + 1 : 0;
      if (alike >= repeated && HasSizes(rows, i + 1 - repeated, part, count)) begins.push_back(i + 1 - repeated);
    }
    return begins;
  }

  void LabelStretch(const std::vector<uint32_t>& rows, size_t begin, size_t length,
                    const std::map<uint32_t, uint32_t>& layers) {
    size_t i = begin;
    for (const auto& [number, layer] : layers) {
      for (size_t k = 0; k < length; ++k) Of(rows[i++]) = layer;
    }
  }

  const AllocationTable& table_;
  const Store& store_;
  const Heap& heap_;
  const Timeline& timeline_;
  std::span<const Category> categories_;
  const ModuleCalls& calls_;
  const std::vector<bool> is_of_fsdp_;  // by stack
  std::vector<uint32_t> layer_;
  std::map<uint32_t, GradientSizes> gradient_sizes_;           // by loop, where proved
  std::map<uint32_t, std::map<uint32_t, uint32_t>> layer_of_;  // loop → number → scope
};

}  // namespace

std::vector<uint32_t> FindLayers(const Store& store, const Heap& heap, const Timeline& timeline,
                                 std::span<const Category> categories, const ModuleCalls& calls) {
  return LayerFinder(store, heap, timeline, categories, calls).Run();
}

}  // namespace memstrata
