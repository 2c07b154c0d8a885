#include "plan/layer_sum.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/engine_profile.h"
#include "plan/layer_activations.h"
#include "plan/sharded_states.h"

namespace memstrata::plan {
namespace {

// What comes and goes while a layer that was run again is in its backward, bytes a token: with sequence parallelism
// whole inputs of both blocks, two partial gradients of the MLP's input and the whole gradient of its output; the
// gradients of the two products before the gate.
double PassingEach(const PlanRequest& request, int64_t layer) {
  const DecoderSpec* spec = request.model.decoder();
  if (!KeepsGatheredInputs(request.workload) || spec == nullptr) return 0;
  const double inner = static_cast<double>(InnerWidth(*spec, layer));
  return 10 * static_cast<double>(spec->hidden) + 4 * inner / static_cast<double>(request.workload.parallel.tensor);
}

// Bytes a token, with the formula: "(32768 + 106624 / 4) B".
struct EachToken {
  double bytes = 0;
  std::string how;
};

EachToken SavedEach(const PlanRequest& request, int64_t layer) {
  const Workload& w = request.workload;
  const auto tensor = static_cast<double>(w.parallel.tensor);
  const double width = static_cast<double>(ComputeBytes(w.precision)) / 2;  // the forms count 16-bit elements
  const LayerActivations saved = SavedByLayer(request.model, w, layer);
  const double replicated = saved.replicated_each * width;
  const double divided = saved.divided_each * width;
  if (w.parallel.tensor == 1) return {replicated + divided, fmt::format("{:.10g} B", replicated + divided)};
  if (w.parallel.sequence_parallel)
    return {(replicated + divided) / tensor, fmt::format("{:.10g} / {} B", replicated + divided, w.parallel.tensor)};
  return {replicated + divided / tensor,
          fmt::format("({:.10g} + {:.10g} / {}) B", replicated, divided, w.parallel.tensor)};
}

// A layer that runs again keeps its input alone.
EachToken InputEach(const PlanRequest& request) {
  const Workload& w = request.workload;
  const double each = static_cast<double>(request.model.hidden) * static_cast<double>(ComputeBytes(w.precision));
  if (!w.parallel.sequence_parallel || w.parallel.tensor == 1)
    return {each, fmt::format("{:.10g} B of its input", each)};
  return {each / static_cast<double>(w.parallel.tensor),
          fmt::format("{:.10g} / {} B of its input", each, w.parallel.tensor)};
}

// Layers one after the other that keep the same.
struct Run {
  int64_t layers = 0;
  int64_t tokens = 0;
  std::string each;
};

std::string FormulaOf(const std::vector<Run>& runs) {
  std::string text;
  for (const Run& run : runs)
    text += fmt::format("{}{} layers x {} tokens x {}", text.empty() ? "" : " + ", run.layers, run.tokens, run.each);
  return text;
}

}  // namespace

int64_t TokensOnRank(const Workload& w) { return w.batch * (w.sequence / std::max<int64_t>(1, w.parallel.context)); }

int64_t TargetTokens(const PlanRequest& request) {
  const Workload& w = request.workload;
  const int64_t length = request.model.encoder_layers > 0 && w.target_sequence > 0 ? w.target_sequence : w.sequence;
  return w.batch * (length / std::max<int64_t>(1, w.parallel.context));
}

bool KeepsGatheredInputs(const Workload& w) {
  return w.parallel.tensor > 1 && w.parallel.sequence_parallel && ProfileOf(w).keeps_gathered_inputs;
}

bool RecomputesAll(const Workload& w) {
  return w.recompute == Recompute::kFull || w.recompute == Recompute::kFullReentrant;
}

LayerSum SumLayers(const PlanRequest& request, int64_t stage) {
  const Workload& w = request.workload;
  const auto [first, end] = StageLayers(request.model.layer_count, stage, w.parallel);
  const EachToken input = InputEach(request);
  LayerSum sum;
  std::vector<Run> runs;
  for (int64_t layer = first; layer < end; ++layer) {
    const EachToken whole = SavedEach(request, layer);
    const EachToken& kept = RecomputesAll(w) ? input : whole;
    const int64_t tokens = layer >= request.model.encoder_layers ? TargetTokens(request) : TokensOnRank(w);
    sum.last_bytes = static_cast<double>(tokens) * kept.bytes;
    sum.bytes += sum.last_bytes;
    const double passing = PassingEach(request, layer) * static_cast<double>(ComputeBytes(w.precision)) / 2;
    const double rerun = static_cast<double>(tokens) * (whole.bytes + passing);
    if (rerun > sum.rerun_bytes) {
      sum.rerun_bytes = rerun;
      sum.rerun_how = fmt::format("{} tokens x ({} + {:.10g} B that pass)", tokens, whole.how, passing);
    }
    if (runs.empty() || runs.back().each != kept.how || runs.back().tokens != tokens)
      runs.push_back({0, tokens, kept.how});
    ++runs.back().layers;
  }
  sum.how = FormulaOf(runs);
  return sum;
}

}  // namespace memstrata::plan
